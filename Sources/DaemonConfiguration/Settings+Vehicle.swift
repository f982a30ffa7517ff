extension Settings {
    /// What the vehicle itself says, and what follows from it.
    package struct Vehicle: Sendable, Equatable {
        /// Where the level of the ignition comes from.
        package var ignition = IgnitionSource.none
        /// A name in `/sys/class/power_supply` whose `online` says whether there is external power; empty: none.
        package var supply = ""
        /// The line of `ignition = "gpio"`.
        package var gpio = GPIO()
        /// Seconds for which a new level must hold, of ignition and external power; 0 takes it at once. What is set by
        /// hand counts at once.
        package var ignitionDebounceSeconds = 2.0
        /// What follows from the ignition.
        package var onIgnition = OnIgnition.record
        /// Seconds from ignition off to the stop, with ``OnIgnition/track``.
        package var ignitionOffDelaySeconds = 60.0
        /// Seconds; the shortest stay between two trips.
        package var tripGapSeconds = 300.0
        /// The kinds of events that are uploaded beside geofence enter and exit.
        package var events: [EventKind] = []

        /// The defaults: the vehicle says nothing.
        package init() {}
    }

    /// Where the level of the ignition comes from.
    package enum IgnitionSource: String, Sendable, CaseIterable {
        /// Nowhere: it is unknown.
        case none
        /// From a line of a GPIO chip.
        case gpio
        /// From external power, ``Vehicle/supply``.
        case powerSupply = "power_supply"
        /// From `SetIgnition`.
        case manual
    }

    /// A line of a GPIO chip.
    package struct GPIO: Sendable, Equatable {
        /// Path of the chip below `/dev`; empty: none.
        package var chip = ""
        /// Number of the line on the chip, 0…65535; -1: none.
        package var line = -1
        /// The ignition is on while the line is low.
        package var activeLow = false
    }

    /// What follows from the ignition.
    package enum OnIgnition: String, Sendable, CaseIterable {
        /// An event.
        case record
        /// Changes are recorded, and a session starts with ignition on and stops some time after off.
        case track
    }

    /// The kinds of events besides geofence enter and exit.
    package enum EventKind: String, Sendable, CaseIterable {
        /// On and off.
        case ignition
        /// External power lost and back.
        case power
        /// Started and ended.
        case trip
        /// A stay within a geofence.
        case dwell
        /// Set by hand.
        case odometer
    }
}
