"""What scripts/proof-engines has an engine perform, around the function of a recipe.

The first try of a letter to twice@example.org dies after the letter was sent. The post office opens after the first
try that found it closed.
"""

import os


def tried(send, death, to, text):
    """`death` is the exception by which the engine tries again."""
    try:
        result = send(to, text)
    except Exception:
        if os.path.exists("closed"):
            os.remove("closed")
        raise
    if to == "twice@example.org" and not os.path.exists("tried"):
        open("tried", "x").close()
        raise death("the worker died")
    return result
