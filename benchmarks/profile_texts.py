"""Texts of many kinds, to which profiles are fitted and with which they are tested; always the same."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import sysconfig
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MOST_CHARACTERS = 200_000
# The modules of the standard library that are long enough, in the order of their names.
MOST_MODULES = 12


def texts_by_kind(outputs: Path) -> dict[str, str]:
    """Return a text for each kind: outputs of commands, code, and generated ones."""
    found = {}
    for path in sorted((outputs / "raw").iterdir()):
        text = path.read_bytes()[:MOST_CHARACTERS].decode("utf-8", "replace")
        if len(text) >= 4096:
            found[path.name] = text
    return {**found, **source_code(), **generated()}


def source_code() -> dict[str, str]:
    from pathlib import Path

    library = Path(sysconfig.get_paths()["stdlib"])
    modules = [path.read_text() for path in sorted(library.glob("*.py")) if path.stat().st_size > 8192]
    return {"python": "".join(text[:8192] for text in modules[:MOST_MODULES])}


def generated() -> dict[str, str]:
    chance = random.Random(20)  # noqa: S311  # the same texts in every run
    return {
        "numbers": "\n".join(map(str, range(20_000))),
        "decimals": "\n".join(
            ",".join(f"{chance.uniform(-1e3, 1e3):.3f}" for _ in range(8)) for _ in range(900)
        ),
        "digests": "\n".join(hashlib.sha256(b"%d" % number).hexdigest() for number in range(800)),
        "uuids": "\n".join(uuid(chance) for _ in range(1200)),
        "base64": re.sub("(.{76})", "\\1\n", base64.b64encode(chance.randbytes(36_000)).decode()),
        "blanks": "\n".join(" " * chance.randint(0, 60) + chance.choice("xyz") for _ in range(1600)),
        "json lines": "\n".join(
            json.dumps({"id": number, "name": f"item {number}", "tags": ["a", "b"], "price": number / 7})
            for number in range(700)
        ),
        **{name: "\n".join(sentences(words, chance)) for name, words in WORDS.items()},
    }


def uuid(chance: random.Random) -> str:
    digits = f"{chance.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def sentences(words: str, chance: random.Random) -> list[str]:
    """Return lines of words in a random order: enough of each script, without any text of somebody else."""
    glue = "" if " " not in words else " "
    known = words.split(" ") if glue else list(words)
    return [glue.join(chance.choice(known) for _ in range(12)) + "." for _ in range(400)]


# Common words, or characters, of some languages.
WORDS = {
    "german": (
        "der die und nicht werden Zeitung größer über Straße während"
        " Möglichkeit Entwicklung zwischen gestern schön"
    ),
    "french": (
        "le être avoir même développement après française très journée préférer façon où déjà élève grâce"
    ),
    "russian": (
        "время человек который сказать новый между работа страна большой слово вопрос должен город жизнь"
    ),
    "ukrainian": (
        "людина який робота країна великий слово питання місто життя між дуже новий також сьогодні"
    ),
    "greek": ("χρόνος άνθρωπος καλός μεγάλος εργασία χώρα λέξη ερώτηση πόλη ζωή σήμερα μεταξύ επίσης"),
    "arabic": ("الوقت الإنسان العمل البلاد الكلمة السؤال المدينة الحياة اليوم كبير جديد بين أيضا الذي"),
    "hebrew": "זמן אדם עבודה מדינה גדול מילה שאלה עיר חיים היום חדש בין גם אשר",
    "hindi": "समय मनुष्य काम देश बड़ा शब्द प्रश्न शहर जीवन आज नया बीच भी जो",
    "thai": "เวลามนุษย์งานประเทศใหญ่คำถามเมืองชีวิตวันนี้ใหม่ระหว่างด้วยซึ่ง",
    "japanese": "時間人間仕事国大きい言葉質問町生活今日新しい間もするですますのはをがに",
    "chinese": "时间人工作国家大话问题城市生活今天新之间也的是在有不了和我们他这中",
    "korean": "시간 사람 일 나라 크다 단어 질문 도시 생활 오늘 새로운 사이 또한 그리고 합니다",
}
