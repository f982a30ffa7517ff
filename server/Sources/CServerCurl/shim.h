// The part of libcurl that Swift cannot call directly: variadic functions, one wrapper per type.
#ifndef CSERVERCURL_SHIM_H
#define CSERVERCURL_SHIM_H

#include <curl/curl.h>

// Tested with 7.88 (Debian 12). The newest option in use, CURLOPT_QUICK_EXIT, is of 7.87.
#if LIBCURL_VERSION_NUM < 0x075800
#error "beekon-server needs libcurl 7.88 or newer"
#endif

// Enumerators in 7.88 (Debian 12), macros in 8.14 (Debian 13), which Swift gives other types.
static const long cservercurl_no_tls = CURLUSESSL_NONE;
static const long cservercurl_all_tls = CURLUSESSL_ALL;

typedef size_t (*cservercurl_transfer)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode cservercurl_set_long(CURL *h, CURLoption option, long value) {
    return curl_easy_setopt(h, option, value);
}

static inline CURLcode cservercurl_set_text(CURL *h, CURLoption option, const char *value) {
    return curl_easy_setopt(h, option, value);
}

static inline CURLcode cservercurl_set_pointer(CURL *h, CURLoption option, void *value) {
    return curl_easy_setopt(h, option, value);
}

// `bytes` must stay where they are until the transfer has ended.
static inline CURLcode cservercurl_set_body(CURL *h, const void *bytes, curl_off_t count) {
    CURLcode code = curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, count);
    return code != CURLE_OK ? code : curl_easy_setopt(h, CURLOPT_POSTFIELDS, (const char *)bytes);
}

static inline CURLcode cservercurl_set_list(CURL *h, CURLoption option, struct curl_slist *list) {
    return curl_easy_setopt(h, option, list);
}

static inline CURLcode cservercurl_set_callback(
    CURL *h, CURLoption function, cservercurl_transfer callback, CURLoption data, void *context) {
    CURLcode code = curl_easy_setopt(h, function, callback);
    return code != CURLE_OK ? code : curl_easy_setopt(h, data, context);
}

static inline CURLcode cservercurl_get_long(CURL *h, CURLINFO info, long *value) {
    return curl_easy_getinfo(h, info, value);
}

static inline CURLMcode cservercurl_set_connections(CURLM *multi, long most) {
    return curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, most);
}

static inline CURLcode cservercurl_result(const CURLMsg *message) {
    return message->data.result;
}

#endif
