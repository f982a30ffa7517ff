// All that Swift sees of libmosquitto, a client of MQTT.
#ifndef CMOSQUITTO_SHIM_H
#define CMOSQUITTO_SHIM_H

#include <mosquitto.h>
#include <mqtt_protocol.h>

// MQTT 5, and its reason codes, are of 1.6; tested with 2.0.11 (Debian 12).
#if LIBMOSQUITTO_VERSION_NUMBER < 2000000
#error "beekon-server needs libmosquitto 2.0 or newer"
#endif

#endif
