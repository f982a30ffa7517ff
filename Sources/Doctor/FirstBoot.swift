package import DaemonConfiguration

/// A unit of systemd that enrols a vehicle of an image at its first start.
package enum FirstBoot {
    /// - Parameters:
    ///   - code: letters, digits, `-` and `_`.
    ///   - arguments: further options, checked by who gives them.
    package static func unit(_ address: ServerAddress, code: String, arguments: [String] = []) -> String {
        // systemd would take % for a specifier.
        let url = address.base.replacing("%", with: "%%")
        let words = (["enroll"] + arguments + ["'\(url)'", "-"]).joined(separator: " ")
        return """
            # /etc/systemd/system/beekond-enroll.service; then: systemctl enable beekond-enroll.service
            [Unit]
            Description=Enrol this vehicle at its server
            Wants=network-online.target
            After=network-online.target beekond.service
            ConditionPathExists=!/etc/beekond/beekond.d/50-server.toml

            [Service]
            Type=oneshot
            ExecStart=/usr/bin/beekonctl \(words)
            StandardInputText=\(code)
            Restart=on-failure
            RestartSec=60

            [Install]
            WantedBy=multi-user.target

            """
    }
}
