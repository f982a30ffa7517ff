// The part of libcurl that Swift cannot call directly: variadic functions, one wrapper per option type.
#ifndef CCURL_SHIM_H
#define CCURL_SHIM_H

#include <curl/curl.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

// Tested with 7.88 (Debian 12) and 8.14 (Debian 13). The newest option in use, CURLOPT_QUICK_EXIT, is of 7.87.
#if LIBCURL_VERSION_NUM < 0x075800
#error "beekond needs libcurl 7.88 or newer"
#endif

typedef size_t (*ccurl_write)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode ccurl_set_long(CURL *h, CURLoption option, long value) {
    return curl_easy_setopt(h, option, value);
}

static inline CURLcode ccurl_set_text(CURL *h, CURLoption option, const char *value) {
    return curl_easy_setopt(h, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *h, CURLoption option, void *value) {
    return curl_easy_setopt(h, option, value);
}

static inline CURLcode ccurl_set_body(CURL *h, const void *bytes, curl_off_t count) {
    CURLcode code = curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, count);
    return code != CURLE_OK ? code : curl_easy_setopt(h, CURLOPT_POSTFIELDS, (const char *)bytes);
}

static inline CURLcode ccurl_set_headers(CURL *h, struct curl_slist *list) {
    return curl_easy_setopt(h, CURLOPT_HTTPHEADER, list);
}

static inline CURLcode ccurl_set_write(CURL *h, CURLoption function, ccurl_write callback,
                                       CURLoption data, void *context) {
    CURLcode code = curl_easy_setopt(h, function, callback);
    return code != CURLE_OK ? code : curl_easy_setopt(h, data, context);
}

typedef curl_socket_t (*ccurl_open)(void *context, curlsocktype purpose, struct curl_sockaddr *address);
typedef int (*ccurl_close)(void *context, curl_socket_t socket);

// `context` must outlive every connection that was made meanwhile.
static inline CURLcode ccurl_set_sockets(CURL *h, ccurl_open open, ccurl_close close, void *context) {
    curl_easy_setopt(h, CURLOPT_OPENSOCKETFUNCTION, open);
    curl_easy_setopt(h, CURLOPT_OPENSOCKETDATA, context);
    curl_easy_setopt(h, CURLOPT_CLOSESOCKETFUNCTION, close);
    return curl_easy_setopt(h, CURLOPT_CLOSESOCKETDATA, context);
}

typedef int (*ccurl_awaits)(CURL *h, curl_socket_t socket, int events, void *context, void *unused);

// From then on `multi` tells what it waits for. `context` must outlive it.
static inline CURLMcode ccurl_set_awaits(CURLM *multi, ccurl_awaits awaits, void *context) {
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, awaits);
}

static inline CURLcode ccurl_get_long(CURL *h, CURLINFO info, long *value) {
    return curl_easy_getinfo(h, info, value);
}

static inline CURLcode ccurl_get_text(CURL *h, CURLINFO info, const char **value) {
    return curl_easy_getinfo(h, info, value);
}

static inline CURLcode ccurl_get_socket(CURL *h, CURLINFO info, curl_socket_t *value) {
    return curl_easy_getinfo(h, info, value);
}

static inline CURLcode ccurl_get_offset(CURL *h, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(h, info, value);
}

// The SSL of the connection in use, which lives until its socket is closed; NULL without TLS, or with that of another
// library. Only while a request runs: in its callbacks.
static inline SSL *ccurl_tls(CURL *h) {
    const struct curl_tlssessioninfo *info = NULL;
    if (curl_easy_getinfo(h, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || info == NULL) return NULL;
    return info->backend == CURLSSLBACKEND_OPENSSL ? (SSL *)info->internals : NULL;
}

// What is to be read on a connection between two requests.
enum ccurl_unread { CCURL_NOTHING, CCURL_DATA, CCURL_ENDED };

// Looks into TLS without taking anything but what belongs to TLS itself, such as session tickets. Through a BIO of its
// own: libcurl's wants a request to belong to, and reports errors to it.
static inline enum ccurl_unread ccurl_peek(SSL *tls, int socket) {
    BIO *own = BIO_new_socket(socket, BIO_NOCLOSE);
    if (own == NULL) return CCURL_ENDED;
    BIO *input = SSL_get_rbio(tls), *output = SSL_get_wbio(tls);
    // Whatever is set takes a reference with it, and drops that of what was there before.
    BIO_up_ref(input);
    BIO_up_ref(output);
    BIO_up_ref(own);
    SSL_set0_rbio(tls, own);
    SSL_set0_wbio(tls, own);
    ERR_clear_error();
    char byte;
    int count = SSL_peek(tls, &byte, 1);
    enum ccurl_unread found = count > 0                                          ? CCURL_DATA
                              : SSL_get_error(tls, count) == SSL_ERROR_WANT_READ ? CCURL_NOTHING
                                                                                 : CCURL_ENDED;
    ERR_clear_error();
    SSL_set0_rbio(tls, input);
    SSL_set0_wbio(tls, output);
    return found;
}

// `tls`: NULL without. Never waits.
static inline enum ccurl_unread ccurl_unread(int socket, SSL *tls) {
    if (tls != NULL && SSL_has_pending(tls)) return ccurl_peek(tls, socket);
    char byte;
    ssize_t count = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR ? CCURL_NOTHING : CCURL_ENDED;
    if (count == 0) return CCURL_ENDED;
    return tls != NULL ? ccurl_peek(tls, socket) : CCURL_DATA;
}

// TLS sessions that outlive the handles which made them. It has no locks: for one thread only.
static inline CURLSH *ccurl_share_sessions(void) {
    CURLSH *share = curl_share_init();
    if (share != NULL && curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) != CURLSHE_OK) {
        curl_share_cleanup(share);
        return NULL;
    }
    return share;
}

static inline CURLcode ccurl_message_result(const CURLMsg *message) {
    return message->data.result;
}

// CURLVERSION_NOW is a macro for an enum constant.
static inline int ccurl_resolves_asynchronously(void) {
    return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_ASYNCHDNS) != 0;
}

#endif
