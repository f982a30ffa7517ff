package org.traccar.session;

public class DeviceSession {
    public long getDeviceId() {
        return 1;
    }
}
