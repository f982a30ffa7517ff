import API
import Alerts
import ArgumentParser
import Forwards
import Glibc

/// Where alerts are mailed from, and what they link to.
struct MailOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The mail server that takes alerts: smtp://host:port or smtps://host:port. (Environment: BEEKON_SERVER_SMTP)",
            valueName: "url"))
    var smtp: String?

    @Option(
        help: ArgumentHelp(
            "The sender of mail: fleet@example.org, or 'Our fleet <fleet@example.org>'. (Environment: BEEKON_SERVER_SMTP_FROM)",
            valueName: "address"))
    var smtpFrom: String?

    @Option(
        help: ArgumentHelp(
            "Who logs in at the mail server; by default nobody does. (Environment: BEEKON_SERVER_SMTP_USER)",
            valueName: "name"))
    var smtpUser: String?

    @Option(
        help: ArgumentHelp(
            "A file with that password; by default systemd's credential smtp-password. (Environment: BEEKON_SERVER_SMTP_PASSWORD_FILE)",
            valueName: "file"))
    var smtpPasswordFile: String?

    @Option(
        name: .customLong("smtp-ca-file"),
        help: ArgumentHelp(
            "Authorities of the mail server's certificate (PEM), instead of the system's. (Environment: BEEKON_SERVER_SMTP_CA_FILE)",
            valueName: "file"))
    var smtpCAFile: String?

    @Flag(
        help:
            "Speak to a mail server elsewhere without encryption, which everybody on the way can read. (Environment: BEEKON_SERVER_SMTP_UNENCRYPTED=yes)"
    )
    var smtpUnencrypted = false

    @Option(
        name: .customLong("public-url"),
        help: ArgumentHelp(
            "Where people reach the page, for links in mails: https://fleet.example.org. (Environment: BEEKON_SERVER_PUBLIC_URL)",
            valueName: "url"))
    var publicURL: String?

    /// Bytes of a password.
    private static let longestPassword = 1024

    /// - Parameter settings: those of the file; the environment and the command line go before them.
    /// - Throws: `Failure` for an option that cannot be. A file that cannot be read is in `options.mailTrouble`: vehicles are
    ///   served without mail.
    func apply(_ settings: Settings, to options: inout ServerOptions) throws {
        if let url = publicURL ?? Environment["BEEKON_SERVER_PUBLIC_URL"] ?? settings.publicURL {
            if let complaint = WebAddress.complaint(about: url) { throw Failure("public_url: \(complaint)") }
            options.publicURL = url.hasSuffix("/") ? String(url.dropLast()) : url
        }
        // The unit that keeps it in says so, and the drop-in that lets it out.
        options.isConfined = Environment["BEEKON_SERVER_NETWORK"] == "local"
        guard let url = smtp ?? Environment["BEEKON_SERVER_SMTP"] ?? settings.smtp else { return }
        guard let from = smtpFrom ?? Environment["BEEKON_SERVER_SMTP_FROM"] ?? settings.smtpFrom else {
            throw Failure("smtp needs smtp_from, the sender of mail")
        }
        let mayBePlain =
            smtpUnencrypted || Environment["BEEKON_SERVER_SMTP_UNENCRYPTED"] == "yes"
            || settings.smtpUnencrypted == true
        var server: MailServer
        do throws(MailServer.Invalid) {
            server = try MailServer(url: url, from: from, mayBePlain: mayBePlain)
        } catch {
            throw Failure("smtp: \(error.reason)")
        }
        server.user = smtpUser ?? Environment["BEEKON_SERVER_SMTP_USER"] ?? settings.smtpUser
        server.caFile = smtpCAFile ?? Environment["BEEKON_SERVER_SMTP_CA_FILE"] ?? settings.smtpCAFile
        do {
            if server.user != nil { server.password = try password(settings) }
            if let path = server.caFile, access(path, R_OK) != 0 {
                throw Failure("smtp_ca_file: cannot read \(path): \(String(cString: strerror(errno)))")
            }
            options.mail = server
        } catch {
            options.mailTrouble = "\(error)"
        }
    }

    private func password(_ settings: Settings) throws -> String {
        let credential = Environment["CREDENTIALS_DIRECTORY"].map { $0 + "/smtp-password" }
        guard
            let path = smtpPasswordFile ?? Environment["BEEKON_SERVER_SMTP_PASSWORD_FILE"]
                ?? settings.smtpPasswordFile ?? credential
        else { throw Failure("smtp_user needs smtp_password_file, or a credential smtp-password") }
        do throws(CredentialFile.Invalid) {
            return try CredentialFile.read(path, longest: Self.longestPassword)
        } catch {
            throw Failure("smtp_password_file: \(error.reason)")
        }
    }
}
