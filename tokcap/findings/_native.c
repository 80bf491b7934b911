/* What a survey asks about every line of a large text: how many lines there are, and which are equal without
   hexadecimal digits.

   The same as in `survey.py` and `shapes/line_map.py`, at the speed of C. It is optional: without a compiler
   the package has no such module. A hash of 64 bits stands for a line. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Line ends are counted in this many bytes side by side, and added up before one of them can overflow. */
#define LANES 16
#define MOST_IN_A_BYTE 255
#define FACTOR 0x9E3779B97F4A7C15u
#define FIRST_SLOTS 1024
/* What is copied in one step can be longer than what is left of it. */
#define MORE_ROOM 16

static uint64_t word_at(const unsigned char *place) {
    uint64_t word;
    memcpy(&word, place, sizeof word);
    return word;
}

static Py_ssize_t count_line_ends(const unsigned char *at, Py_ssize_t size) {
    Py_ssize_t count = 0, place = 0;
    while (place + LANES <= size) {
        /* Compilers make one vector of these. */
        unsigned char sums[LANES] = {0};
        for (int n = 0; n < MOST_IN_A_BYTE && place + LANES <= size; n++, place += LANES)
            for (int lane = 0; lane < LANES; lane++) sums[lane] += at[place + lane] == '\n';
        for (int lane = 0; lane < LANES; lane++) count += sums[lane];
    }
    for (; place < size; place++) count += at[place] == '\n';
    return count;
}

static uint64_t mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * FACTOR;
    return hash ^ (hash >> 32);
}

static unsigned char IS_KEPT[256];

/* Another one in each process: nobody can write a line whose hash is that of a line to be hidden. */
static uint64_t seed;

/* Copy a text without hexadecimal digits, and return how many bytes are left. Line ends stay. The copy has room for
   the text and `MORE_ROOM`. */
static size_t copy_each(const unsigned char *text, size_t size, unsigned char *copy) {
    size_t kept = 0;
    for (size_t n = 0; n < size; n++) {
        copy[kept] = text[n];
        kept += IS_KEPT[text[n]];
    }
    return kept;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <tmmintrin.h>

/* For each set of dropped bytes among eight: the places of the others, and how many there are. */
static unsigned char OTHERS[256][8], OTHERS_COUNT[256];

static void prepare_sets(void) {
    for (int set = 0; set < 256; set++) {
        unsigned char count = 0;
        for (unsigned char place = 0; place < 8; place++)
            if (!(set >> place & 1)) OTHERS[set][count++] = place;
        OTHERS_COUNT[set] = count;
    }
}

/* The same, sixteen bytes at a time: `masks_of` then takes less than half of the time. */
__attribute__((target("ssse3"))) static size_t copy_sixteen(const unsigned char *text, size_t size,
                                                            unsigned char *copy) {
    /* A sum that wraps around is below the limit only for bytes of the range. */
    const __m128i digit_shift = _mm_set1_epi8((char)(0x80 - '0')), digit_limit = _mm_set1_epi8(-0x80 + 10);
    const __m128i letter_shift = _mm_set1_epi8((char)(0x80 - 'a')), letter_limit = _mm_set1_epi8(-0x80 + 6);
    size_t kept = 0, n = 0;
    for (; n + 16 <= size; n += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(text + n));
        __m128i is_digit = _mm_cmplt_epi8(_mm_add_epi8(bytes, digit_shift), digit_limit);
        __m128i is_letter = _mm_cmplt_epi8(_mm_add_epi8(bytes, letter_shift), letter_limit);
        unsigned dropped = (unsigned)_mm_movemask_epi8(_mm_or_si128(is_digit, is_letter));
        for (int half = 0; half < 2; half++, dropped >>= 8, bytes = _mm_srli_si128(bytes, 8)) {
            unsigned set = dropped & 0xFF;
            __m128i order = _mm_loadl_epi64((const __m128i *)OTHERS[set]);
            _mm_storel_epi64((__m128i *)(copy + kept), _mm_shuffle_epi8(bytes, order));
            kept += OTHERS_COUNT[set];
        }
    }
    return kept + copy_each(text + n, size - n, copy + kept);
}

static size_t copy_kept(const unsigned char *text, size_t size, unsigned char *copy) {
    return (__builtin_cpu_supports("ssse3") ? copy_sixteen : copy_each)(text, size, copy);
}
#else
#define copy_kept copy_each
static void prepare_sets(void) {}
#endif

static uint64_t hash_of(const unsigned char *text, size_t size) {
    uint64_t hash = mixed(seed, size), last = 0;
    for (size_t n = 0; n + 8 < size; n += 8) hash = mixed(hash, word_at(text + n));
    /* The last eight bytes, which may overlap the word before: to collect single bytes takes longer. */
    if (size >= 8) last = word_at(text + size - 8);
    else memcpy(&last, text, size);
    return mixed(mixed(hash, last), 0);
}

/* The different lines so far. A slot has the number of one of them, from 1; 0 is an empty slot. */
typedef struct {
    uint32_t *slots;
    size_t mask;
    uint64_t *hashes;
    uint32_t *lines;
    size_t count, room;
} Known;

static void release(Known *known) {
    free(known->slots);
    free(known->hashes);
    free(known->lines);
}

static size_t slot_of(const Known *known, uint64_t hash) {
    size_t slot = hash & known->mask;
    while (known->slots[slot] && known->hashes[known->slots[slot] - 1] != hash) slot = (slot + 1) & known->mask;
    return slot;
}

/* Make room for twice as many lines; return 0 if there is no memory. */
static int grow(Known *known) {
    size_t count = known->slots ? 2 * (known->mask + 1) : FIRST_SLOTS;
    uint32_t *slots = calloc(count, sizeof *slots);
    uint64_t *hashes = realloc(known->hashes, count / 2 * sizeof *hashes);
    if (hashes) known->hashes = hashes;
    uint32_t *lines = realloc(known->lines, count / 2 * sizeof *lines);
    if (lines) known->lines = lines;
    if (!slots || !hashes || !lines) {
        free(slots);
        return 0;
    }
    free(known->slots);
    known->slots = slots;
    known->mask = count - 1;
    known->room = count / 2;
    for (size_t n = 0; n < known->count; n++) slots[slot_of(known, known->hashes[n])] = (uint32_t)n + 1;
    return 1;
}

static int append_pair(PyObject *list, Py_ssize_t first, Py_ssize_t end) {
    PyObject *pair = Py_BuildValue("nn", first, end);
    int failed = !pair || PyList_Append(list, pair);
    Py_XDECREF(pair);
    return failed;
}

PyDoc_STRVAR(masks_of_doc,
             "masks_of(text, start, stop, least, number, /)\n--\n\n"
             "Return the number of lines in a part of a text; the ranges of at least `least` lines that are\n"
             "equal without hexadecimal digits, if the first line is `number`; and for each different line, its\n"
             "hash and where it is first.");

static PyObject *masks_of(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *text;
    Py_ssize_t start, stop, least, number, size;
    char *given;
    if (!PyArg_ParseTuple(arguments, "Snnnn", &text, &start, &stop, &least, &number)) return NULL;
    if (PyBytes_AsStringAndSize(text, &given, &size)) return NULL;
    if (start < 0 || start > stop || stop > size) return PyErr_Format(PyExc_ValueError, "the text has no such part");
    given += start;
    size = stop - start;
    if (size > INT32_MAX) return PyErr_Format(PyExc_ValueError, "the part is too large");
    Known known = {0};
    unsigned char *copy = malloc((size_t)size + MORE_ROOM);
    PyObject *ranges = PyList_New(0), *first_lines = PyDict_New(), *found = NULL;
    if (!copy || !ranges || !first_lines || !grow(&known)) {
        PyErr_NoMemory();
        goto done;
    }
    const unsigned char *at = copy, *end = at + copy_kept((const unsigned char *)given, (size_t)size, copy);
    /* Nothing is left of a last line of digits that does not end. It is a line all the same. */
    int has_nothing_left = size && given[size - 1] != '\n' && (at == end || end[-1] == '\n');
    Py_ssize_t line = 0, first = 0;
    uint64_t last_hash = 0;
    for (; at < end + has_nothing_left; line++) {
        const unsigned char *line_end = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        if (!line_end) line_end = end;
        uint64_t hash = hash_of(at, (size_t)(line_end - at));
        at = line_end + 1;
        if (line && hash == last_hash) continue;
        if (line - first >= least && append_pair(ranges, number + first, number + line)) goto done;
        first = line;
        last_hash = hash;
        size_t slot = slot_of(&known, hash);
        if (known.slots[slot]) continue;
        known.hashes[known.count] = hash;
        known.lines[known.count] = (uint32_t)line;
        known.slots[slot] = (uint32_t)++known.count;
        if (known.count == known.room && !grow(&known)) {
            PyErr_NoMemory();
            goto done;
        }
    }
    if (line - first >= least && append_pair(ranges, number + first, number + line)) goto done;
    for (size_t n = 0; n < known.count; n++) {
        PyObject *hash = PyLong_FromUnsignedLongLong(known.hashes[n]);
        PyObject *place = PyLong_FromUnsignedLong(known.lines[n]);
        int failed = !hash || !place || PyDict_SetItem(first_lines, hash, place);
        Py_XDECREF(hash);
        Py_XDECREF(place);
        if (failed) goto done;
    }
    found = Py_BuildValue("nOO", line, ranges, first_lines);
done:
    release(&known);
    free(copy);
    Py_XDECREF(ranges);
    Py_XDECREF(first_lines);
    return found;
}

PyDoc_STRVAR(line_ends_doc,
             "line_ends(block, stretch, /)\n--\n\n"
             "Return how many lines end in each stretch of so many bytes.");

static PyObject *line_ends(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *block;
    Py_ssize_t stretch, size;
    char *given;
    if (!PyArg_ParseTuple(arguments, "Sn", &block, &stretch)) return NULL;
    if (PyBytes_AsStringAndSize(block, &given, &size)) return NULL;
    if (stretch < 1) return PyErr_Format(PyExc_ValueError, "a stretch needs bytes");
    PyObject *counts = PyList_New(0);
    for (Py_ssize_t place = 0; counts && place < size; place += stretch) {
        Py_ssize_t left = size - place;
        Py_ssize_t count =
            count_line_ends((const unsigned char *)given + place, left < stretch ? left : stretch);
        PyObject *item = PyLong_FromSsize_t(count);
        if (!item || PyList_Append(counts, item)) Py_CLEAR(counts);
        Py_XDECREF(item);
    }
    return counts;
}

static PyMethodDef METHODS[] = {{"masks_of", masks_of, METH_VARARGS, masks_of_doc},
                                {"line_ends", line_ends, METH_VARARGS, line_ends_doc},
                                {0}};

static int prepare(PyObject *module) {
    (void)module;
    /* The hash of bytes in Python has a secret. */
    PyObject *word = PyBytes_FromString("seed of the hashes of lines");
    if (!word) return -1;
    seed = FACTOR ^ (uint64_t)PyObject_Hash(word);
    Py_DECREF(word);
    memset(IS_KEPT, 1, sizeof IS_KEPT);
    for (const char *digit = "0123456789abcdef"; *digit; digit++) IS_KEPT[(unsigned char)*digit] = 0;
    prepare_sets();
    return 0;
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, prepare}, {0}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, .m_name = "tokcap.findings._native", .m_methods = METHODS, .m_slots = SLOTS};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&MODULE); }
