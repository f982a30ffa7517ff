// All that Swift sees of OpenSSL's libcrypto in the server.
#ifndef CSERVERCRYPTO_SHIM_H
#define CSERVERCRYPTO_SHIM_H

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

// 32 bytes to `digest`; 0 when OpenSSL has no memory for it.
static inline int cservercrypto_sha256(const void *bytes, size_t count, unsigned char *digest) {
    return EVP_Digest(bytes, count, digest, NULL, EVP_sha256(), NULL);
}

#endif
