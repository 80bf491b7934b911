"""Show a progress line on the terminal during a long run, and erase it before any other output."""

from __future__ import annotations

from tokcap.core.units import size_of
from tokcap.errors import TokenizerFailed
from tokcap.lean.record import TYPE_CHECKING
from tokcap.steps.redrawn_line import RedrawnLine, can_draw

if TYPE_CHECKING:
    from tokcap.core.payload import Sink
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment

# The rate of tokens is measured on samples of this size, each time the output has grown by this factor.
SAMPLE_BYTES = 1 << 12
GROWTH = 4


class Measured:
    """A sink that writes to another one, and measures how much comes and how many tokens that is."""

    def __init__(self, sink: Sink, tokenizer: Tokenizer) -> None:
        self._sink = sink
        self._tokenizer = tokenizer
        self.size_bytes = 0
        self._next_bytes = SAMPLE_BYTES
        self._sampled_bytes = self._sampled_tokens = 0

    def write(self, block: bytes) -> None:
        self._sink.write(block)
        self.size_bytes += len(block)
        # Here and not in the thread that draws: a tokenizer may not be used by two threads.
        if self.size_bytes >= self._next_bytes and self._sampled_tokens >= 0:
            self._measure(block[-SAMPLE_BYTES:])
            self._next_bytes = self.size_bytes * GROWTH

    def finish(self) -> None:
        self._sink.finish()

    def _measure(self, sample: bytes) -> None:
        try:
            self._sampled_tokens += self._tokenizer.count(sample.decode("utf-8", "replace"))
            self._sampled_bytes += len(sample)
        except TokenizerFailed:
            # The answer reports it.
            self._sampled_tokens = -1

    @property
    def tokens(self) -> int | None:
        """Return about how many tokens there are; None if too little is known."""
        if self._sampled_tokens <= 0:
            return None
        return round(self.size_bytes * self._sampled_tokens / self._sampled_bytes)


class ProgressLine(RedrawnLine):
    """How long the command runs, and how much it has written."""

    first_draw_seconds = 2.0
    redraw_seconds = 0.5

    def __init__(self, env: Environment, measured: Measured) -> None:
        super().__init__(env)
        self._measured = measured
        self.start()

    def line(self, columns: int) -> str:
        """Return the longest wording that fits."""
        seconds = self.seconds
        size_bytes, tokens = self._measured.size_bytes, self._measured.tokens
        many, few = f"{size_bytes:,} bytes", size_of(size_bytes)
        wordings = [
            f"tokcap: {seconds} s, {many}",
            f"tokcap: {seconds} s, {few}",
            f"{seconds} s, {few}",
            f"{seconds} s",
        ]
        if tokens is not None:
            # Most calls have ended before there is anything to say.
            from tokcap.core.mark import rounded

            about = rounded(tokens)
            wordings = [
                f"tokcap: {seconds} s, {many}, about {about} tokens",
                f"tokcap: {seconds} s, {few}, about {about} tokens",
                f"{seconds} s, {few}, ~{about} tokens",
                f"{seconds} s, ~{about} tokens",
                *wordings[2:],
            ]
        return next((words for words in wordings if len(words) < columns), "")


class TerminalProgress:
    """Writes to both streams of a call, and erases the progress line before the first write."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._line: ProgressLine | None = None
        # What was passed on to stdout before the answer.
        self._shown = bytearray()

    def start(self, sink: Sink, tokenizer: Tokenizer) -> Sink:
        """Start the progress line if there is a terminal. Return a sink that measures what comes."""
        if not can_draw(self._env):
            return sink
        measured = Measured(sink, tokenizer)
        self._line = ProgressLine(self._env, measured)
        return measured

    def write_stdout(self, data: bytes) -> None:
        if not data:
            return
        self.erase()
        self._shown += data
        self._env.write_stdout(data)

    def write_stderr(self, data: bytes) -> None:
        if not data:
            return
        self.erase()
        self._env.write_stderr(data)

    def erase(self) -> None:
        """Erase the progress line."""
        if self._line is not None:
            self._line.erase()
            self._line = None

    def end(self) -> None:
        """Erase the progress line before the answer, which undoes what it leaves open."""
        self.erase()
        self._shown.clear()

    def close(self) -> None:
        """Erase the progress line. If no answer came, undo what was left open in the terminal."""
        self.erase()
        if b"\x1b" in self._shown and self._env.is_terminal(self._env.stdout):
            from tokcap.filters.terminal_modes import resets_after

            self._env.write_stdout(b"".join(resets_after(bytes(self._shown))))
