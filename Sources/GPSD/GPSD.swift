// GPSD
