// The libraries of owntracks-cli-publisher, and what it does with them: libgps reads, libmosquitto publishes.
// Usage: mqtt PORT-OF-GPSD PORT-OF-BROKER
#include <gps.h>
#include <mosquitto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
    static struct gps_data_t data;
    mosquitto_lib_init();
    struct mosquitto *link = count == 3 ? mosquitto_new("peer", true, NULL) : NULL;
    if (link == NULL || mosquitto_connect(link, "127.0.0.1", atoi(arguments[2]), 60) != MOSQ_ERR_SUCCESS ||
        gps_open("127.0.0.1", arguments[1], &data) != 0) {
        fprintf(stderr, "mqtt: cannot connect\n");
        return 1;
    }
    gps_stream(&data, WATCH_ENABLE | WATCH_JSON, NULL);
    for (;;) {
        if (mosquitto_loop(link, 0, 1) != MOSQ_ERR_SUCCESS) {
            return 1;
        }
        // Half a second, in microseconds.
        if (!gps_waiting(&data, 500000)) {
            continue;
        }
        data.set = 0;
        if (gps_read(&data, NULL, 0) < 0) {
            return 1;
        }
        if ((data.set & TIME_SET) && data.fix.mode >= MODE_2D) {
            char text[256];
            snprintf(text, sizeof text, "{\"_type\":\"location\",\"lat\":%.7f,\"lon\":%.7f,\"tst\":%lld}",
                     data.fix.latitude, data.fix.longitude, (long long)data.fix.time.tv_sec);
            mosquitto_publish(link, NULL, "owntracks/bench/peer", (int)strlen(text), text, 0, true);
        }
    }
}
