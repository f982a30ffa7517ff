// The part of libcurl that Swift cannot call directly: variadic functions, one wrapper per option type.
#ifndef CCURL_SHIM_H
#define CCURL_SHIM_H

#include <curl/curl.h>

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
