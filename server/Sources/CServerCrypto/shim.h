// All that Swift sees of OpenSSL's libcrypto in the server.
#ifndef CSERVERCRYPTO_SHIM_H
#define CSERVERCRYPTO_SHIM_H

#include <openssl/crypto.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

// 32 bytes to `digest`; 0 when OpenSSL has no memory for it.
static inline int cservercrypto_sha256(const void *bytes, size_t count, unsigned char *digest) {
    return EVP_Digest(bytes, count, digest, NULL, EVP_sha256(), NULL);
}

// 32 bytes to `code`: HMAC (RFC 2104) with SHA-256. 0 when OpenSSL has no memory for it.
static inline int cservercrypto_hmac(
    const void *key, int key_count, const unsigned char *bytes, size_t count, unsigned char *code) {
    return HMAC(EVP_sha256(), key, key_count, bytes, count, code, NULL) != NULL;
}

// The hash of a password by scrypt (RFC 7914), 32 bytes, with N = 2^14, r = 8, p = 5: 17 MB and a fifth of a second. 0 when there
// is no memory for it.
static inline int cservercrypto_scrypt(
    const char *password, size_t count, const unsigned char *salt, size_t salt_count, unsigned char *hash) {
    return EVP_PBE_scrypt(password, count, salt, salt_count, 1 << 14, 8, 5, 32 << 20, hash, 32);
}

// Nobody sits at a terminal to be asked for a pass phrase.
static inline int cservercrypto_no_phrase(char *room, int size, int writing, void *context) {
    (void)room, (void)size, (void)writing, (void)context;
    return -1;
}

// A private Ed25519 key in PEM; NULL for anything else.
static inline EVP_PKEY *cservercrypto_key_read(const void *pem, int count) {
    BIO *input = BIO_new_mem_buf(pem, count);
    EVP_PKEY *key = input ? PEM_read_bio_PrivateKey(input, NULL, cservercrypto_no_phrase, NULL) : NULL;
    BIO_free(input);
    if (key && EVP_PKEY_get_base_id(key) != EVP_PKEY_ED25519) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    return key;
}

// A new one; NULL without randomness or memory.
static inline EVP_PKEY *cservercrypto_key_new(void) { return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"); }

// The key in PEM, its private or its public part; 0 when it does not fit, else its bytes.
static inline int cservercrypto_key_text(EVP_PKEY *key, int is_private, char *room, int size) {
    BIO *output = BIO_new(BIO_s_mem());
    int count = 0;
    if (output && (is_private ? PEM_write_bio_PKCS8PrivateKey(output, key, NULL, NULL, 0, NULL, NULL)
                              : PEM_write_bio_PUBKEY(output, key)))
        count = BIO_read(output, room, size);
    BIO_free(output);
    return count > 0 && count < size ? count : 0;
}

// 64 bytes to `signature`; 0 when it could not be made.
static inline int cservercrypto_sign(EVP_PKEY *key, const unsigned char *bytes, size_t count, unsigned char *signature) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t size = 64;
    int done = context && EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1 &&
        EVP_DigestSign(context, signature, &size, bytes, count) == 1 && size == 64;
    EVP_MD_CTX_free(context);
    return done;
}

#endif
