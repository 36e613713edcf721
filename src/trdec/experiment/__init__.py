"""The paper's experiment on any corpus: systems times seeds, trained, translated, scored and reported.

EXPERIMENT/
    experiment.yaml      every key with its value
    toy/                 the toy corpus, if the experiment makes one
    runs/SYSTEM-SEED/    model/, translations.txt, trees.txt, loss.json, logs, and a record of each finished stage
    report.md, report.html, report.json, figures/
"""
