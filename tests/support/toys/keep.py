"""A keep policy that shows the middle, so that there are two gaps."""

from tokcap.core.fit import largest_fit


class Middle:
    needs_head = needs_tail = needs_middle = True
    prefers_end = reads_only_head = may_pass_live = shows_prompts = may_stop_early = False
    survey = None

    def for_call(self, circumstances):
        return self

    def choose(self, material):
        half = material.count // 2
        sizes = range(1, half)
        best = largest_fit(
            len(sizes), lambda n: material.price(((half - sizes[n] // 2, half + sizes[n]),)), material.limit
        )
        return None if best is None else ((half - sizes[best] // 2, half + sizes[best]),)


MIDDLE = Middle()
