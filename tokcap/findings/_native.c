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

#define ONES 0x0101010101010101u
#define LOW_BITS (0x7F * ONES)
/* Each byte of a sum can count up to this. */
#define MOST_IN_A_BYTE 255
#define FACTOR 0x9E3779B97F4A7C15u
#define FIRST_SLOTS 1024

static uint64_t word_at(const unsigned char *place) {
    uint64_t word;
    memcpy(&word, place, sizeof word);
    return word;
}

static Py_ssize_t count_line_ends(const unsigned char *at, Py_ssize_t size) {
    Py_ssize_t count = 0, place = 0;
    while (place + 8 <= size) {
        uint64_t sums = 0;
        for (int n = 0; n < MOST_IN_A_BYTE && place + 8 <= size; n++, place += 8) {
            /* A byte of `differs` is 0 at a line end; then the highest bit of that byte is set in `found`. */
            uint64_t differs = word_at(at + place) ^ ('\n' * ONES);
            uint64_t found = ~(((differs & LOW_BITS) + LOW_BITS) | differs | LOW_BITS);
            sums += found >> 7;
        }
        for (; sums; sums >>= 8) count += sums & 0xFF;
    }
    for (; place < size; place++) count += at[place] == '\n';
    return count;
}

static uint64_t mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * FACTOR;
    return hash ^ (hash >> 32);
}

static unsigned char IS_KEPT[256];

/* Return the hash of a line without hexadecimal digits. `copy` has room for the line and 8 bytes more. */
static uint64_t hash_of(const unsigned char *line, Py_ssize_t size, unsigned char *copy) {
    Py_ssize_t kept = 0;
    for (Py_ssize_t n = 0; n < size; n++) {
        copy[kept] = line[n];
        kept += IS_KEPT[line[n]];
    }
    memset(copy + kept, 0, 8);
    uint64_t hash = mixed(FACTOR, (uint64_t)kept);
    for (Py_ssize_t n = 0; n < kept; n += 8) hash = mixed(hash, word_at(copy + n));
    return mixed(hash, 0);
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
             "masks_of(block, least, number, /)\n--\n\n"
             "Return the number of lines; the ranges of at least `least` lines that are equal without\n"
             "hexadecimal digits, if the first line is `number`; and for each different line, its hash and\n"
             "where it is first.");

static PyObject *masks_of(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *block;
    Py_ssize_t least, number, size;
    char *given;
    if (!PyArg_ParseTuple(arguments, "Snn", &block, &least, &number)) return NULL;
    if (PyBytes_AsStringAndSize(block, &given, &size)) return NULL;
    if (size > INT32_MAX) return PyErr_Format(PyExc_ValueError, "the block is too large");
    const unsigned char *at = (const unsigned char *)given, *end = at + size;
    Known known = {0};
    unsigned char *copy = malloc((size_t)size + 8);
    PyObject *ranges = PyList_New(0), *first_lines = PyDict_New(), *found = NULL;
    if (!copy || !ranges || !first_lines || !grow(&known)) {
        PyErr_NoMemory();
        goto done;
    }
    Py_ssize_t line = 0, first = 0;
    uint64_t last_hash = 0;
    for (; at < end; line++) {
        const unsigned char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        uint64_t hash = hash_of(at, stop - at, copy);
        at = stop + 1;
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
    memset(IS_KEPT, 1, sizeof IS_KEPT);
    for (const char *digit = "0123456789abcdef"; *digit; digit++) IS_KEPT[(unsigned char)*digit] = 0;
    return 0;
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, prepare}, {0}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, .m_name = "tokcap.findings._native", .m_methods = METHODS, .m_slots = SLOTS};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&MODULE); }
