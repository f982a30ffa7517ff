internal import DaemonConfiguration

/// A unit of systemd that enrols a vehicle of an image at its first start.
package enum FirstBoot {
    /// - Parameters:
    ///   - code: letters, digits, `-` and `_`.
    package static func unit(_ request: Enrollment.Request, code: String) -> String {
        // systemd would take % for a specifier.
        let url = request.address.base.replacing("%", with: "%%")
        let grant = request.grant == .usual ? [] : ["--commands", request.grant.rawValue]
        let destination = request.destination.map { ["--destination", $0] } ?? []
        let words = (["enroll"] + grant + destination + ["'\(url)'", "-"]).joined(separator: " ")
        return """
            # /etc/systemd/system/beekond-enroll.service; then: systemctl enable beekond-enroll.service
            [Unit]
            Description=Enrol this vehicle at its server
            Wants=network-online.target
            After=network-online.target beekond.service
            ConditionPathExists=!/etc/beekond/beekond.d/50-server\(request.destination.map { "-" + $0 } ?? "").toml

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
