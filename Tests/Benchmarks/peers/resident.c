// The memory of a program that links what beekond links, and has initialised libcurl. It sleeps until it is killed.
#include <curl/curl.h>
#include <unistd.h>

int main(void) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *handle = curl_easy_init();
    (void)handle;
    pause();
    return 0;
}
