package org.traccar.config;

/** What the decoder asks for, as it is without a configuration. */
public class Config {
    public double getDouble(double key) {
        return key;
    }

    public int getInteger(int key) {
        return key;
    }
}
