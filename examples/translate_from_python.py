"""A trained model from Python: each line of standard input, its translation, the tree, and how sure the model was.

python examples/translate_from_python.py models/toy < demo/toy/test.vel
"""

import sys

from trdec.translation.translator import Translator
from trdec.trees.drawing import draw


def main(model: str) -> None:
    """Translate standard input line by line, drawing the trees."""
    translator = Translator.load(model)  # once: loading takes longer than translating a line
    for translation in translator.stream(line.rstrip("\n") for line in sys.stdin):
        print(translation.text)
        if translation.tree is not None:
            print("".join(f"  {line}\n" for line in draw(translation.tree, 100)), end="")
        weakest = min(translation.actions, key=lambda action: action.log_prob, default=None)
        if weakest is not None:
            print(f"  score {translation.score:.2f}; least sure of {weakest.text!r} ({weakest.log_prob:.2f})")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/translate_from_python.py MODEL < LINES")
    main(sys.argv[1])
