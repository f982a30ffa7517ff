// What contradicts itself in `[vehicle]`.

extension SettingsBuilder {
    mutating func checkVehicle() {
        let vehicle = draft.vehicle
        let gpio = vehicle.gpio
        let isGPIO = vehicle.ignition == .gpio
        let stray =
            "is a setting of vehicle.ignition = \"gpio\", and that is \"\(vehicle.ignition.rawValue)\"; remove it"
        check([
            (!isGPIO && !gpio.chip.isEmpty, "vehicle.gpio_chip", stray),
            (!isGPIO && gpio.line >= 0, "vehicle.gpio_line", stray),
            (!isGPIO && gpio.activeLow, "vehicle.gpio_active_low", stray),
            (
                isGPIO && gpio.chip.isEmpty && !isBroken("vehicle.gpio_chip"), "vehicle.ignition",
                "\"gpio\" needs vehicle.gpio_chip, such as \"/dev/gpiochip0\""
            ),
            (
                isGPIO && gpio.line < 0 && !isBroken("vehicle.gpio_line"), "vehicle.ignition",
                "\"gpio\" needs vehicle.gpio_line, the number of the line on its chip"
            ),
            (
                vehicle.ignition == .powerSupply && vehicle.supply.isEmpty && !isBroken("vehicle.supply"),
                "vehicle.ignition",
                "\"power_supply\" needs vehicle.supply, a name in /sys/class/power_supply"
            ),
        ])
        guard vehicle.onIgnition == .track else { return }
        if vehicle.ignition == .none, !isBroken("vehicle.ignition") {
            addProblem(
                "vehicle.on_ignition",
                "\"track\" needs an ignition; set vehicle.ignition to \"gpio\", \"power_supply\" or \"manual\""
            )
        }
        if !draft.tracking.schedule.isEmpty {
            // The files alone are known to be good: what was set while running gives way.
            let isFromFile = if case .file = winners["tracking.schedule"]?.origin { true } else { false }
            addProblem(
                isFromFile ? "vehicle.on_ignition" : "tracking.schedule",
                "vehicle.on_ignition = \"track\" and tracking.schedule would both decide when to track; remove one of the two"
            )
        }
    }
}
