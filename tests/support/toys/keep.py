"""A keep policy that shows the middle, so that there are two gaps."""

from tokcap.core.cut import largest_fit
from tokcap.keep.base import Keep


class Middle(Keep):
    needs_tail = needs_middle = True
    shows_prompts = False

    def choose(self, material):
        half = material.count // 2
        sizes = range(1, half)
        best = largest_fit(
            len(sizes), lambda n: material.price(((half - sizes[n] // 2, half + sizes[n]),)), material.limit
        )
        return None if best is None else ((half - sizes[best] // 2, half + sizes[best]),)


MIDDLE = Middle()
