/* Digests of the leaves of a long stream, four at a time.

   The same as in `tree_digest.py`: each leaf is hashed by BLAKE2b (RFC 7693) with the parameters of a tree; none is
   marked as the last node. The four 64-bit lanes of a vector hash four leaves. It is optional: there is no such
   module without a compiler, and it cannot be imported on a processor without such vectors (AVX2). */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stdint.h>
#include <string.h>

#define LEAF_BYTES 65536
#define DIGEST_BYTES 20
#define LANES 4

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define BLOCK_BYTES 128
#define ROUNDS 12
#define ORDERS 10
/* The parameters: unlimited fanout, two levels, inner digests as long as the root's. The level of leaves is 0. */
#define PARAMETERS (DIGEST_BYTES | (uint64_t)2 << 24 | (uint64_t)LEAF_BYTES << 32)
#define INNER_SIZE (DIGEST_BYTES << 8)

#define ADD _mm256_add_epi64
#define XOR _mm256_xor_si256
#define EACH(number) _mm256_set1_epi64x((long long)(number))

static const uint64_t START[8] = {0x6A09E667F3BCC908u, 0xBB67AE8584CAA73Bu, 0x3C6EF372FE94F82Bu,
                                  0xA54FF53A5F1D36F1u, 0x510E527FADE682D1u, 0x9B05688C2B3E6C1Fu,
                                  0x1F83D9ABFB41BD6Bu, 0x5BE0CD19137E2179u};

/* The order in which each round takes the words of a block. */
static const unsigned char ORDER[ORDERS][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                                {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                                {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                                {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                                {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                                {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                                {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                                {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                                {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                                {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

/* Words are rotated by 32, 24, 16 and 63 bits: whole bytes move, or the highest bit becomes the lowest. */
#define MIX(a, b, c, d, one, other)                                \
    v[a] = ADD(ADD(v[a], v[b]), words[one]);                       \
    v[d] = _mm256_shuffle_epi32(XOR(v[d], v[a]), 0xB1);            \
    v[c] = ADD(v[c], v[d]);                                        \
    v[b] = _mm256_shuffle_epi8(XOR(v[b], v[c]), by_24);            \
    v[a] = ADD(ADD(v[a], v[b]), words[other]);                     \
    v[d] = _mm256_shuffle_epi8(XOR(v[d], v[a]), by_16);            \
    v[c] = ADD(v[c], v[d]);                                        \
    v[b] = XOR(v[b], v[c]);                                        \
    v[b] = XOR(_mm256_srli_epi64(v[b], 63), ADD(v[b], v[b]));

#define SIXTEEN(...) _mm256_setr_epi8(__VA_ARGS__, __VA_ARGS__)

__attribute__((target("avx2"))) static void read_words(const unsigned char *block, __m256i words[16]) {
    for (int part = 0; part < 4; part++) {
        __m256i lane[LANES];
        for (int n = 0; n < LANES; n++)
            lane[n] = _mm256_loadu_si256((const __m256i *)(block + n * LEAF_BYTES + part * 32));
        __m256i even = _mm256_unpacklo_epi64(lane[0], lane[1]), odd = _mm256_unpackhi_epi64(lane[0], lane[1]);
        __m256i more_even = _mm256_unpacklo_epi64(lane[2], lane[3]);
        __m256i more_odd = _mm256_unpackhi_epi64(lane[2], lane[3]);
        words[part * 4] = _mm256_permute2x128_si256(even, more_even, 0x20);
        words[part * 4 + 1] = _mm256_permute2x128_si256(odd, more_odd, 0x20);
        words[part * 4 + 2] = _mm256_permute2x128_si256(even, more_even, 0x31);
        words[part * 4 + 3] = _mm256_permute2x128_si256(odd, more_odd, 0x31);
    }
}

/* Write the digests of four leaves that follow each other. The first has the number `first`. */
__attribute__((target("avx2"))) static void hash_four(const unsigned char *data, uint64_t first,
                                                      unsigned char *digests) {
    const __m256i by_24 = SIXTEEN(3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10);
    const __m256i by_16 = SIXTEEN(2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9);
    __m256i state[8], v[16], words[16];
    for (int n = 0; n < 8; n++) state[n] = EACH(START[n]);
    const __m256i numbers = _mm256_setr_epi64x((long long)first, (long long)(first + 1), (long long)(first + 2),
                                               (long long)(first + 3));
    state[0] = XOR(state[0], EACH(PARAMETERS));
    state[1] = XOR(state[1], numbers);
    state[2] = XOR(state[2], EACH(INNER_SIZE));
    for (int hashed = BLOCK_BYTES; hashed <= LEAF_BYTES; hashed += BLOCK_BYTES) {
        read_words(data + hashed - BLOCK_BYTES, words);
        for (int n = 0; n < 8; n++) {
            v[n] = state[n];
            v[n + 8] = EACH(START[n]);
        }
        v[12] = XOR(v[12], EACH(hashed));
        if (hashed == LEAF_BYTES) v[14] = XOR(v[14], EACH(-1));
        for (int round = 0; round < ROUNDS; round++) {
            const unsigned char *o = ORDER[round % ORDERS];
            MIX(0, 4, 8, 12, o[0], o[1])
            MIX(1, 5, 9, 13, o[2], o[3])
            MIX(2, 6, 10, 14, o[4], o[5])
            MIX(3, 7, 11, 15, o[6], o[7])
            MIX(0, 5, 10, 15, o[8], o[9])
            MIX(1, 6, 11, 12, o[10], o[11])
            MIX(2, 7, 8, 13, o[12], o[13])
            MIX(3, 4, 9, 14, o[14], o[15])
        }
        for (int n = 0; n < 8; n++) state[n] = XOR(state[n], XOR(v[n], v[n + 8]));
    }
    uint64_t found[3][LANES];
    for (int n = 0; n < 3; n++) _mm256_storeu_si256((__m256i *)found[n], state[n]);
    for (int lane = 0; lane < LANES; lane++) {
        const uint64_t digest[3] = {found[0][lane], found[1][lane], found[2][lane]};
        memcpy(digests + lane * DIGEST_BYTES, digest, DIGEST_BYTES);
    }
}

static int can_hash_four(void) { return __builtin_cpu_supports("avx2"); }
#else
static int can_hash_four(void) { return 0; }

static void hash_four(const unsigned char *data, uint64_t first, unsigned char *digests) {
    (void)data, (void)first, (void)digests;
}
#endif

PyDoc_STRVAR(leaf_digests_doc,
             "leaf_digests(data, first, /)\n--\n\n"
             "Return the digests of the leaves in `data`, the first of which has the number `first`: of whole\n"
             "groups of four. What is left over is not hashed.");

static PyObject *leaf_digests(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer data;
    unsigned long long first;
    if (!PyArg_ParseTuple(arguments, "y*K", &data, &first)) return NULL;
    Py_ssize_t fours = data.len / (LANES * LEAF_BYTES);
    PyObject *digests = PyBytes_FromStringAndSize(NULL, fours * LANES * DIGEST_BYTES);
    if (digests) {
        unsigned char *place = (unsigned char *)PyBytes_AsString(digests);
        Py_BEGIN_ALLOW_THREADS;
        for (Py_ssize_t four = 0; four < fours; four++)
            hash_four((const unsigned char *)data.buf + four * LANES * LEAF_BYTES, first + four * LANES,
                      place + four * LANES * DIGEST_BYTES);
        Py_END_ALLOW_THREADS;
    }
    PyBuffer_Release(&data);
    return digests;
}

static PyMethodDef METHODS[] = {{"leaf_digests", leaf_digests, METH_VARARGS, leaf_digests_doc}, {0}};

static int prepare(PyObject *module) {
    (void)module;
    if (can_hash_four()) return 0;
    PyErr_SetString(PyExc_ImportError, "this processor cannot hash four leaves at a time");
    return -1;
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, prepare}, {0}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, .m_name = "tokcap.store._native", .m_methods = METHODS, .m_slots = SLOTS};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&MODULE); }
