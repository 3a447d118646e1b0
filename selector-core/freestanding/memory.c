/* What compiled Rust expects of its surroundings on x86-64; elsewhere compiler_builtins has it. */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t length) {
    for (size_t i = 0; i < length; i++)
        ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

void *memmove(void *to, const void *from, size_t length) {
    if ((char *)to <= (const char *)from)
        return memcpy(to, from, length);
    while (length-- > 0)
        ((char *)to)[length] = ((const char *)from)[length];
    return to;
}

void *memset(void *to, int byte, size_t length) {
    for (size_t i = 0; i < length; i++)
        ((char *)to)[i] = (char)byte;
    return to;
}

int memcmp(const void *one, const void *other, size_t length) {
    for (size_t i = 0; i < length; i++) {
        int difference = ((const unsigned char *)one)[i] - ((const unsigned char *)other)[i];
        if (difference != 0)
            return difference;
    }
    return 0;
}

int bcmp(const void *one, const void *other, size_t length) { return memcmp(one, other, length); }
