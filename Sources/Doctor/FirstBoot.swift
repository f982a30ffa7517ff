package import DaemonConfiguration

/// A unit of systemd that enrols a vehicle of an image at its first start.
package enum FirstBoot {
    /// - Parameters:
    ///   - code: letters, digits, `-` and `_`.
    ///   - destination: its name, checked; nil: `[sync]`.
    ///   - arguments: further options, checked by who gives them.
    package static func unit(
        _ address: ServerAddress, code: String, destination: String? = nil, arguments: [String] = []
    ) -> String {
        // systemd would take % for a specifier.
        let url = address.base.replacing("%", with: "%%")
        let named = destination.map { ["--destination", $0] } ?? []
        let words = (["enroll"] + arguments + named + ["'\(url)'", "-"]).joined(separator: " ")
        return """
            # /etc/systemd/system/beekond-enroll.service; then: systemctl enable beekond-enroll.service
            [Unit]
            Description=Enrol this vehicle at its server
            Wants=network-online.target
            After=network-online.target beekond.service
            ConditionPathExists=!/etc/beekond/beekond.d/50-server\(destination.map { "-" + $0 } ?? "").toml

            [Service]
            Type=oneshot
            ExecStart=/usr/bin/beekonctl \(words)
            StandardInputText=\(code)
            Restart=on-failure
            RestartSec=60
            # What another attempt does not mend.
            RestartPreventExitStatus=64 65 77 78

            [Install]
            WantedBy=multi-user.target

            """
    }
}
