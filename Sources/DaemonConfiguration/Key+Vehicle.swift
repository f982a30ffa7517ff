// Where levels come from, who starts tracking and which events leave the vehicle is a matter for administrators.
extension Key {
    static var vehicle: [Key] {
        [
            .choice(
                "vehicle.ignition", \.vehicle.ignition,
                """
                Where the level of the ignition comes from: a GPIO line, the power supply of vehicle.supply, or SetIgnition
                ("beekonctl ignition").
                """),
            .text(
                "vehicle.supply", \.vehicle.supply, Rules.supply,
                "External power, by its name in /sys/class/power_supply, such as \"ACAD\"; \"\": none."),
            .text(
                "vehicle.gpio_chip", \.vehicle.gpio.chip, Rules.gpioChip,
                "Chip of the ignition's line, such as \"/dev/gpiochip0\"; \"\": none."),
            .integer(
                "vehicle.gpio_line", \.vehicle.gpio.line, -1...65535, nil,
                "Number of the ignition's line on its chip; -1: none."),
            .flag(
                "vehicle.gpio_active_low", \.vehicle.gpio.activeLow,
                "The ignition is on while the line is low."),
            .number(
                "vehicle.ignition_debounce_seconds", \.vehicle.ignitionDebounceSeconds, 0...3600, "seconds",
                "How long a new level of the ignition or of external power must hold; SetIgnition counts at once."
            ).tunable,
            .choice(
                "vehicle.on_ignition", \.vehicle.onIgnition,
                "record: an event; track: also a session, which starts with ignition on and stops after off."),
            .number(
                "vehicle.ignition_off_delay_seconds", \.vehicle.ignitionOffDelaySeconds, 0...year, "seconds",
                "How long after ignition off tracking stops, with on_ignition = \"track\"."
            ).tunable,
            .number(
                "vehicle.trip_gap_seconds", \.vehicle.tripGapSeconds, 1...year, "seconds",
                "The shortest stay between two trips; a shorter one is part of a trip."
            ).tunable,
            .choices(
                "vehicle.events", \.vehicle.events,
                "Kinds of events to upload beside geofence enter and exit."),
        ]
    }
}
