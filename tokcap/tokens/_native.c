/* The tokens of a text in an embedded vocabulary: pre-split and byte-pair merging.

   It reads the file of a vocabulary and the classes of characters that `embedded.py` describes. It is
   optional: without a compiler the package has no such module, and tiktoken counts. Where merging would take
   long, this gives up and returns None. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* As in `embedded.py`. */
#define FORMAT_BYTES 16
#define BUCKETS 16381
#define BUCKETS_BEGIN (FORMAT_BYTES + 4 * (BUCKETS + 1))
#define TOKEN_BEGIN 0xFF
#define TOKEN_END 0xFE
#define RANK_BYTES 3
#define NO_RANK UINT32_MAX

/* A merge looks at all parts of its piece, so a piece costs the square of its length. Longer pieces, and more
   work than this in one text, are left to others. */
#define MOST_PIECE_BYTES 2048
#define MOST_WORK ((int64_t)1 << 27)
/* Release the lock of the interpreter for a text of this size: other threads hash and write meanwhile. */
#define LONG_TEXT_BYTES 4096

/* What a character can be. An ASCII character stands for itself, any other for its class (0x80 to 0x87). */
enum { LETTER = 1, NUMBER = 2, BLANK = 4, NEWLINE = 8, UPPER = 16, LOWER = 32 };
#define IS(c, what) (KINDS[(c)] & (what))
#define IS_SIGN(c) (!IS((c), LETTER | NUMBER | BLANK))

static unsigned char KINDS[256];
#define LONG_S 0x87

static void fill_kinds(void) {
    for (int c = 'A'; c <= 'Z'; c++) KINDS[c] = LETTER | UPPER;
    for (int c = 'a'; c <= 'z'; c++) KINDS[c] = LETTER | LOWER;
    for (int c = '0'; c <= '9'; c++) KINDS[c] = NUMBER;
    for (int c = '\t'; c <= '\r'; c++) KINDS[c] = BLANK;
    KINDS['\n'] = KINDS['\r'] = BLANK | NEWLINE;
    KINDS[' '] = BLANK;
    KINDS[0x80] = LETTER | UPPER;
    KINDS[0x81] = KINDS[LONG_S] = LETTER | LOWER;
    /* Letters without case, and marks, are in both classes of letters. A mark is a sign where it begins a piece. */
    KINDS[0x82] = LETTER | UPPER | LOWER;
    KINDS[0x83] = UPPER | LOWER;
    KINDS[0x84] = NUMBER;
    KINDS[0x85] = BLANK;
    KINDS[0x86] = 0;
}

/* A text as classes of characters, one byte each. Positions are numbers of characters. */
typedef struct {
    const unsigned char *at;
    Py_ssize_t size;
} Classes;

static Py_ssize_t run_of(Classes text, Py_ssize_t place, int what) {
    while (place < text.size && IS(text.at[place], what)) place++;
    return place;
}

static Py_ssize_t run_of_signs(Classes text, Py_ssize_t place) {
    while (place < text.size && IS_SIGN(text.at[place])) place++;
    return place;
}

static int lower_case(unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }

/* Return the end of a contraction (`'s`, `'ll`, …) that begins here, or `place` if there is none. */
static Py_ssize_t after_contraction(Classes text, Py_ssize_t place) {
    if (place + 1 >= text.size || text.at[place] != '\'') return place;
    int first = lower_case(text.at[place + 1]);
    if (first == 's' || first == 'd' || first == 'm' || first == 't' || first == LONG_S) return place + 2;
    if (place + 2 >= text.size) return place;
    int second = lower_case(text.at[place + 2]);
    int is_pair = (first == 'l' && second == 'l') || ((first == 'v' || first == 'r') && second == 'e');
    return is_pair ? place + 3 : place;
}

static Py_ssize_t after_digits(Classes text, Py_ssize_t place) {
    Py_ssize_t end = run_of(text, place, NUMBER);
    return end - place > 3 ? place + 3 : end;
}

/* Return where a run of blanks is cut: after its last newline, else before its last blank. */
static Py_ssize_t after_blanks(Classes text, Py_ssize_t place, int end_is_whole) {
    Py_ssize_t end = run_of(text, place, BLANK);
    if (end == text.size && end_is_whole) return end;
    for (Py_ssize_t last = end; last > place; last--)
        if (IS(text.at[last - 1], NEWLINE)) return last;
    return end < text.size && end - place > 1 ? end - 1 : end;
}

static Py_ssize_t cl100k_piece(Classes text, Py_ssize_t place) {
    unsigned char c = text.at[place];
    if (IS(c, LETTER)) return run_of(text, place + 1, LETTER);
    Py_ssize_t end = after_contraction(text, place);
    if (end > place) return end;
    if (IS(c, NUMBER)) return after_digits(text, place);
    int has_next = place + 1 < text.size;
    if (!IS(c, NEWLINE) && has_next && IS(text.at[place + 1], LETTER)) return run_of(text, place + 2, LETTER);
    if (IS_SIGN(c) || (c == ' ' && has_next && IS_SIGN(text.at[place + 1])))
        return run_of(text, run_of_signs(text, place + 1), NEWLINE);
    return after_blanks(text, place, 1);
}

/* Return the end of `[upper]*[lower]+` from here on, or -1 if nothing matches. */
static Py_ssize_t after_lower_word(Classes text, Py_ssize_t place) {
    Py_ssize_t upper = run_of(text, place, UPPER), end = run_of(text, upper, LOWER);
    if (end > upper) return end;
    /* What is in both classes is given back, one after the other. */
    for (; upper > place; upper--)
        if (IS(text.at[upper - 1], LOWER)) return upper;
    return -1;
}

/* Return the end of `[upper]+[lower]*` from here on, or -1 if nothing matches. */
static Py_ssize_t after_upper_word(Classes text, Py_ssize_t place) {
    Py_ssize_t upper = run_of(text, place, UPPER);
    return upper > place ? run_of(text, upper, LOWER) : -1;
}

static Py_ssize_t o200k_piece(Classes text, Py_ssize_t place) {
    unsigned char c = text.at[place];
    if (IS(c, NUMBER)) return after_digits(text, place);
    if (!IS(c, NEWLINE)) {
        int may_precede = !IS(c, LETTER);
        Py_ssize_t end = -1;
        if (may_precede) end = after_lower_word(text, place + 1);
        if (end < 0 && IS(c, UPPER | LOWER)) end = after_lower_word(text, place);
        if (end < 0 && may_precede) end = after_upper_word(text, place + 1);
        if (end < 0 && IS(c, UPPER | LOWER)) end = after_upper_word(text, place);
        if (end >= 0) return after_contraction(text, end);
    }
    if (IS_SIGN(c) || (c == ' ' && place + 1 < text.size && IS_SIGN(text.at[place + 1]))) {
        Py_ssize_t end = run_of_signs(text, place + 1);
        while (end < text.size && (IS(text.at[end], NEWLINE) || text.at[end] == '/')) end++;
        return end;
    }
    return after_blanks(text, place, 0);
}

typedef Py_ssize_t (*PieceEnd)(Classes, Py_ssize_t);
static const struct {
    const char *name;
    PieceEnd piece_end;
} PRE_SPLITS[] = {{"cl100k_base", cl100k_piece}, {"o200k_base", o200k_piece}};
#define PRE_SPLIT_COUNT (Py_ssize_t)(sizeof PRE_SPLITS / sizeof *PRE_SPLITS)

/* The bucket file. */
typedef struct {
    const unsigned char *at;
    Py_ssize_t size;
} Table;

static uint32_t offset_of(Table table, uint32_t bucket) {
    const unsigned char *at = table.at + FORMAT_BYTES + 4 * (size_t)bucket;
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Return the rank of two or more bytes; `NO_RANK` if they are not a token. Never reads past the table. */
static uint32_t rank_of(Table table, const unsigned char *token, Py_ssize_t size) {
    uint32_t bucket = 0;
    for (Py_ssize_t n = 0; n < size; n++) bucket = (bucket << 8 | token[n]) % BUCKETS;
    Py_ssize_t begin = offset_of(table, bucket), end = offset_of(table, bucket + 1);
    if (begin > end || end > table.size) return NO_RANK;
    const unsigned char *entry = table.at + begin, *stop = table.at + end;
    Py_ssize_t entry_bytes = 1 + size + 1 + RANK_BYTES;
    while (entry && stop - entry >= entry_bytes) {
        if (entry[1 + size] == TOKEN_END && !memcmp(entry + 1, token, (size_t)size)) {
            const unsigned char *rank = entry + 2 + size;
            return (uint32_t)rank[0] << 16 | (uint32_t)rank[1] << 8 | rank[2];
        }
        entry = memchr(entry + 1, TOKEN_BEGIN, (size_t)(stop - entry - 1));
    }
    return NO_RANK;
}

/* Merge the first pair of the lowest rank until no pair is a token. Write the length of each token, return
   how many there are; -1 if a token is too long for one byte. */
static Py_ssize_t merge(Table table, const unsigned char *piece, Py_ssize_t size, unsigned char *lengths) {
    /* Where each part begins, and the rank of the part joined with the next one. */
    uint16_t begins[MOST_PIECE_BYTES + 2];
    uint32_t ranks[MOST_PIECE_BYTES + 1];
    Py_ssize_t parts = size;
    for (Py_ssize_t n = 0; n <= size; n++) begins[n] = (uint16_t)n;
    for (Py_ssize_t n = 0; n + 1 < size; n++) ranks[n] = rank_of(table, piece + n, 2);
    while (parts > 1) {
        Py_ssize_t place = 0;
        for (Py_ssize_t n = 1; n + 1 < parts; n++)
            if (ranks[n] < ranks[place]) place = n;
        if (ranks[place] == NO_RANK) break;
        parts--;
        memmove(begins + place + 1, begins + place + 2, sizeof *begins * (size_t)(parts - place));
        memmove(ranks + place, ranks + place + 1, sizeof *ranks * (size_t)(parts - place));
        if (place + 1 < parts)
            ranks[place] = rank_of(table, piece + begins[place], begins[place + 2] - begins[place]);
        if (place)
            ranks[place - 1] = rank_of(table, piece + begins[place - 1], begins[place + 1] - begins[place - 1]);
    }
    for (Py_ssize_t n = 0; n < parts; n++) {
        int length = begins[n + 1] - begins[n];
        if (length > UINT8_MAX) return -1;
        lengths[n] = (unsigned char)length;
    }
    return parts;
}

/* Characters beyond ASCII that many outputs have: quotation marks, dashes, arrows, box drawing, check marks. All
   are signs in every version of Unicode since 10; what is between these ranges is left to Python's tables. */
static const struct {
    uint32_t first, last;
} SIGNS[] = {{0x2010, 0x2027}, {0x202A, 0x202E}, {0x2030, 0x205E}, {0x2190, 0x23FF}, {0x2500, 0x2767}};
#define SIGN 0x86

/* Write the class of each character of UTF-8, and return how many there are; -1 if a class is not known here. */
static Py_ssize_t classify(const unsigned char *data, Py_ssize_t size, unsigned char *classes) {
    Py_ssize_t count = 0;
    for (Py_ssize_t place = 0; place < size; count++) {
        if (data[place] < 0x80) {
            classes[count] = data[place++];
            continue;
        }
        /* All of the ranges have three bytes in UTF-8. */
        if (data[place] != 0xE2 || size - place < 3) return -1;
        uint32_t character = 0x2000 | (uint32_t)(data[place + 1] & 0x3F) << 6 | (data[place + 2] & 0x3F);
        size_t range = 0, ranges = sizeof SIGNS / sizeof *SIGNS;
        while (range < ranges && character > SIGNS[range].last) range++;
        if (range == ranges || character < SIGNS[range].first) return -1;
        classes[count] = SIGN;
        place += 3;
    }
    return count;
}

/* Return where so many characters of UTF-8 end. */
static Py_ssize_t after_characters(const unsigned char *data, Py_ssize_t size, Py_ssize_t place, Py_ssize_t count) {
    while (count-- && place < size)
        for (place++; place < size && (data[place] & 0xC0) == 0x80;) place++;
    return place;
}

/* Write the length of each token of a text, and return how many there are; -1 to give up. */
static Py_ssize_t encode(Table table, PieceEnd piece_end, Classes text, const unsigned char *data, Py_ssize_t size,
                         unsigned char *lengths) {
    int is_ascii = text.at == data;
    int64_t work = 0;
    Py_ssize_t tokens = 0, begin = 0;
    for (Py_ssize_t place = 0; place < text.size;) {
        Py_ssize_t next = piece_end(text, place);
        Py_ssize_t end = is_ascii ? next : after_characters(data, size, begin, next - place);
        const unsigned char *piece = data + begin;
        Py_ssize_t bytes = end - begin;
        place = next;
        begin = end;
        /* Classes of another text. */
        if (bytes < 1) return -1;
        if (bytes == 1 || (bytes <= UINT8_MAX && rank_of(table, piece, bytes) != NO_RANK)) {
            lengths[tokens++] = (unsigned char)bytes;
            continue;
        }
        work += bytes * bytes;
        if (bytes > MOST_PIECE_BYTES || work > MOST_WORK) return -1;
        Py_ssize_t merged = merge(table, piece, bytes, lengths + tokens);
        if (merged < 0) return -1;
        tokens += merged;
    }
    return tokens;
}

PyDoc_STRVAR(token_lengths_doc,
             "token_lengths(table, pre_split, classes, data, /)\n--\n\n"
             "Return the bytes of each token, as a sequence of numbers; None if others have to encode it.\n\n"
             "`table`: the bucket file. `classes`: one byte per character of `data`, which is UTF-8; the same\n"
             "object for ASCII.");

static PyObject *token_lengths(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given_table, *classes, *data;
    const char *name;
    if (!PyArg_ParseTuple(arguments, "OsSS", &given_table, &name, &classes, &data)) return NULL;
    PieceEnd piece_end = NULL;
    for (Py_ssize_t n = 0; n < PRE_SPLIT_COUNT; n++)
        if (!strcmp(PRE_SPLITS[n].name, name)) piece_end = PRE_SPLITS[n].piece_end;
    if (!piece_end) return PyErr_Format(PyExc_ValueError, "unknown pre-split: %s", name);
    char *at;
    Py_ssize_t size;
    Classes text;
    if (PyBytes_AsStringAndSize(classes, &at, &text.size)) return NULL;
    text.at = (const unsigned char *)at;
    if (PyBytes_AsStringAndSize(data, &at, &size)) return NULL;
    const unsigned char *bytes = (const unsigned char *)at;
    Py_buffer buffer;
    if (PyObject_GetBuffer(given_table, &buffer, PyBUF_SIMPLE)) return NULL;
    PyObject *found = NULL;
    unsigned char *lengths = NULL;
    if (buffer.len < BUCKETS_BEGIN) {
        PyErr_SetString(PyExc_ValueError, "not a bucket file");
    } else if (!(lengths = malloc(size ? (size_t)size : 1))) {
        PyErr_NoMemory();
    } else {
        Table table = {buffer.buf, buffer.len};
        Py_ssize_t tokens;
        if (size < LONG_TEXT_BYTES) {
            tokens = encode(table, piece_end, text, bytes, size, lengths);
        } else {
            Py_BEGIN_ALLOW_THREADS
            tokens = encode(table, piece_end, text, bytes, size, lengths);
            Py_END_ALLOW_THREADS
        }
        found = tokens < 0 ? Py_NewRef(Py_None) : PyBytes_FromStringAndSize((char *)lengths, tokens);
    }
    free(lengths);
    PyBuffer_Release(&buffer);
    return found;
}

PyDoc_STRVAR(sign_classes_doc,
             "sign_classes(data, /)\n--\n\n"
             "Return the class of each character of UTF-8; None if it has others than ASCII and common signs.");

static PyObject *sign_classes(PyObject *module, PyObject *data) {
    (void)module;
    char *at;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(data, &at, &size)) return NULL;
    unsigned char *classes = malloc(size ? (size_t)size : 1);
    if (!classes) return PyErr_NoMemory();
    Py_ssize_t count = classify((const unsigned char *)at, size, classes);
    PyObject *found = count < 0 ? Py_NewRef(Py_None) : PyBytes_FromStringAndSize((char *)classes, count);
    free(classes);
    return found;
}

static PyMethodDef METHODS[] = {{"token_lengths", token_lengths, METH_VARARGS, token_lengths_doc},
                                {"sign_classes", sign_classes, METH_O, sign_classes_doc},
                                {0}};

static int prepare(PyObject *module) {
    (void)module;
    fill_kinds();
    return 0;
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, prepare}, {0}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, .m_name = "tokcap.tokens._native", .m_methods = METHODS, .m_slots = SLOTS};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&MODULE); }
