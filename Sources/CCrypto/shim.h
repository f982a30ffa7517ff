// The part of libcrypto that Swift sees: AES-256-GCM, SHA-256 and Ed25519, one call each. libcurl has loaded the library
// anyway.
#ifndef CCRYPTO_SHIM_H
#define CCRYPTO_SHIM_H

#include <openssl/crypto.h>
#include <openssl/evp.h>

// Tested with 3.0 (Debian 12) and 3.5 (Debian 13), libcurl's TLS included.
#if OPENSSL_VERSION_NUMBER < 0x30000000L
#error "beekond needs OpenSSL 3.0 or newer"
#endif

enum { CCRYPTO_KEY = 32, CCRYPTO_NONCE = 12, CCRYPTO_TAG = 16, CCRYPTO_SHA256 = 32 };
enum { CCRYPTO_ED25519_KEY = 32, CCRYPTO_ED25519_SIGNATURE = 64 };

// `output` must hold `count` bytes, `tag` CCRYPTO_TAG. Returns 1 on success.
static inline int ccrypto_seal(const unsigned char *key, const unsigned char *nonce, const unsigned char *header,
                               int header_count, const unsigned char *input, int count, unsigned char *output,
                               unsigned char *tag) {
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int n = 0;
    // 12 bytes are GCM's default nonce length, so it needs no setting.
    int ok = context && EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), NULL, key, nonce) == 1 &&
             EVP_EncryptUpdate(context, NULL, &n, header, header_count) == 1 &&
             EVP_EncryptUpdate(context, output, &n, input, count) == 1 && n == count &&
             EVP_EncryptFinal_ex(context, output + n, &n) == 1 &&
             EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, CCRYPTO_TAG, tag) == 1;
    EVP_CIPHER_CTX_free(context);
    return ok;
}

// The inverse. Also returns 0 when the tag does not match; `output` must not be used then.
static inline int ccrypto_open(const unsigned char *key, const unsigned char *nonce, const unsigned char *header,
                               int header_count, const unsigned char *input, int count, unsigned char *output,
                               const unsigned char *tag) {
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int n = 0;
    int ok = context && EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), NULL, key, nonce) == 1 &&
             EVP_DecryptUpdate(context, NULL, &n, header, header_count) == 1 &&
             EVP_DecryptUpdate(context, output, &n, input, count) == 1 && n == count &&
             EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CCRYPTO_TAG, (void *)tag) == 1 &&
             EVP_DecryptFinal_ex(context, output + n, &n) == 1;
    EVP_CIPHER_CTX_free(context);
    return ok;
}

static inline int ccrypto_sha256(const unsigned char *input, size_t count, unsigned char *digest) {
    return EVP_Digest(input, count, digest, NULL, EVP_sha256(), NULL);
}

// Returns 1 if the key has signed the message. `key` must hold CCRYPTO_ED25519_KEY bytes, `signature`
// CCRYPTO_ED25519_SIGNATURE.
static inline int ccrypto_ed25519_verify(const unsigned char *key, const unsigned char *signature,
                                         const unsigned char *message, size_t count) {
    EVP_PKEY *pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, CCRYPTO_ED25519_KEY);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int ok = pkey && context && EVP_DigestVerifyInit(context, NULL, NULL, NULL, pkey) == 1 &&
             EVP_DigestVerify(context, signature, CCRYPTO_ED25519_SIGNATURE, message, count) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(pkey);
    return ok;
}

#endif
