// The part of zlib that Swift cannot call directly.
#ifndef CZLIB_SHIM_H
#define CZLIB_SHIM_H

#include <zlib.h>

// deflateInit2 is a macro that passes the size of z_stream. 15 + 16 window bits request a gzip header and trailer.
static inline int czlib_gzip_init(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}

static inline int czlib_gunzip_init(z_stream *stream) {
    return inflateInit2(stream, 15 + 16);
}

#endif
