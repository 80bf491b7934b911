"""Pieces of terminal output: characters, control characters and escape sequences, whole and broken."""

PIECES = (
    b"a|bc |word word| |   |\t|\n|\n\n\n|\r|\r\n|\x08|\x00|\x07|\x0c|\x1b|\x1b[|\x1b[3|\x1b[31m|"
    b"\x1b[1;38:5:7m|\x1b[?25l|\x1b[ q|m|[|8|;|\x1b[K|\x1b[1K|\x1b[2K|\x1b[5G|\x1b[2C|\x1b[999C|"
    b"\x1b[3D|\x1b[4X|\x1b[2P|\x1b[3@|\x1b[2L|\x1b[M|\x1b[3d|\x1b[A|\x1b[3A|\x1b[2B|\x1b[99B|\x1b[E|\x1b[2F|\x1b[H|\x1b[3;4H|\x1b[s|"
    b"\x1b[u|\x1b[J|\x1b[1J|\x1b[2J|\x1b7|\x1b8|\x1bD|\x1bE|\x1bM|\x1bc|\x18|\x1b]0;title\x07|"
    b"\x1b]8;;u\x1b\\|\x1b]|\x1bPq|\x1b\\|\x1b_|\x07|\xc2\x9c|\xc2\x9d|\x1b(0|\x1b(B|\x1b)0|\x0e|\x0f|"
    b"lqk|\x1b[?1049h|\x1b[?1049l|\xc2\x9b|\xc2\x85|\xc2|\x85|\x9b|\xff|\xe3|\x81|\xf0\x9f|\xc2\xa0|"
    b"\xc3\xa9|\xcc\x81"
).split(b"|") + [text.encode() for text in ("e\u0301", "日本", "👩\u200d🔧")]
