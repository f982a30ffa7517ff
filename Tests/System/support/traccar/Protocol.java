package org.traccar;

public interface Protocol {
}
