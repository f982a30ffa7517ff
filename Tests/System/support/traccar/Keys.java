package org.traccar.config;

public final class Keys {
    /** Metres. */
    public static final double OSMAND_MIN_ACCURACY = 10;
    public static final int GEOLOCATION_MCC = 0;
    public static final int GEOLOCATION_MNC = 0;

    private Keys() {
    }
}
