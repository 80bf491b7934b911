"""A shape for `key=value` lines. It is cut as text and has fields of its own."""

from tokcap.shapes.base import Selected, Sniffed, Value
from tokcap.shapes.text import Text


class Settings(Text):
    name: str = "settings"
    search_option: str = ""

    def sniff(self, payload):
        lines = payload.read(0, payload.size).splitlines()
        return Sniffed(self.name, total_count=len(lines)) if all(b"=" in line for line in lines) else None

    def confirm(self, payload):
        return self.sniff(payload) or Sniffed("text")

    def select(self, payload, paths):
        data = payload.read(0, payload.size)
        lines = data.splitlines(keepends=True)
        names = [line.partition(b"=")[0].decode() for line in lines]
        wanted = {".".join(path) for path in paths}
        kept = [line for line, name in zip(lines, names, strict=True) if name in wanted]
        return Selected(b"".join(kept), {path for path in paths if ".".join(path) in names}, names)

    def value_at(self, payload, pointer):
        lines = payload.read(0, payload.size).decode().splitlines()
        return Value(dict(line.split("=", 1) for line in lines)[pointer[1:]].encode(), "text")


SETTINGS = Settings()
