"""`docs/experiments.md`, written from the configuration classes: `python -m trdec.experiment.reference > FILE`."""

from __future__ import annotations

import sys

from trdec.config.reference import section
from trdec.experiment.configuration import ExperimentConfiguration

_HEAD = """\
# Experiments

`trdec experiment FILE.yaml [key=value ...]` answers the paper's question, *which tree helps?*, for a corpus: it trains
every system with every seed, translates, scores, and writes a report.

```
trdec experiment configs/experiments/toy.yaml --jobs 2           # eight systems, two seeds, a report
trdec experiment configs/experiments/or-en.yaml --scale small    # another size that the file describes
trdec experiment configs/experiments/or-en.yaml --dry-run        # the commands, and how long they would take
```

An experiment is a training recipe (see [the configuration](configuration.md)), a list of systems, a list of seeds and
what changes in the recipe for all of them:

```yaml
title: Which tree helps on my corpus?
output: experiments/mine
recipe: my-recipe.yaml            # as for `trdec train`; relative to this file
systems: [seq2seq, trdec-binary, my-trees]
seeds: [1, 2, 3]
variants:
  my-trees: {system: trdec-binary, changes: {data.trees: [right-branching]}}
changes: {batches.batch_type: sentences, batches.batch_size: 32}
```

* **Side by side.** `--jobs N` runs N trainings at a time, one thread each (2 by default, 1 on a single core).
* **Scales.** `--scale NAME` takes the changes that the file lists under `scales`, and writes to `OUTPUT-NAME`, so that
  sizes do not mix.
* **Resumable.** Run the same command again, also after `kill -9`: finished runs are skipped, unfinished ones go on
  from their last checkpoint, and the report is the same as if nothing had happened. A stage is done again only if its
  data, its configuration or its weights changed.
* **Failures.** A run that fails does not stop the others; it is listed at the end and in the report, and the command
  ends with 1.
* **Fair.** All systems get the same updates, batches, sizes and rates. Count batches in sentences, as the files in
  `configs/experiments` do, without `training.early_stopping`, and every system sees the same number of sentence pairs.
  `trdec-binary` has each pair twice among its examples, once a tree version; the budget is in updates, so it sees as
  many pairs as the others and each tree half as often. The report says what each system was given.
* **The report** (`report.md`, `report.html`, `report.json` in the output): BLEU and chrF++ with deviations over seeds
  and significance against the first system, gains by length and the histogram of lengths (the paper's figures 4 and
  5), training curves, size and speed, sample translations with their trees, and every command and version. How scores
  are made is told in [evaluation](evaluation.md).

This page is generated: `python -m trdec.experiment.reference > docs/experiments.md`.
"""


def reference() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *section(ExperimentConfiguration, "", "The keys of an experiment")])


if __name__ == "__main__":
    sys.stdout.write(reference())
