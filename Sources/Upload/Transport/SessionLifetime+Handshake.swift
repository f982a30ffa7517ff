internal import CCurl

extension SessionLifetime.Handshake {
    /// What became of the TLS handshake of a request, or of a connection, that has ended.
    ///
    /// - Parameter isAnswered: something has arrived through TLS: not from a proxy.
    init(_ handle: UnsafeMutableRawPointer, _ code: CURLcode, isAnswered: Bool) {
        if isAnswered {
            self = .done
            return
        }
        switch code {
        case CURLE_OK:
            self = .done
            return
        case CURLE_SSL_CONNECT_ERROR:
            self = .refused
            return
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CLIENTCERT:
            self = .doubtful
            return
        default: break
        }
        var (connections, connected, secured) = (0, curl_off_t(0), curl_off_t(0))
        _ = ccurl_get_long(handle, CURLINFO_NUM_CONNECTS, &connections)
        _ = ccurl_get_offset(handle, CURLINFO_CONNECT_TIME_T, &connected)
        _ = ccurl_get_offset(handle, CURLINFO_APPCONNECT_TIME_T, &secured)
        // None was due on a connection that was there, and none can have begun on one that was not.
        guard connections > 0, connected > 0 else {
            self = .unreached
            return
        }
        // Once it is complete, only a lost connection may be its fault; a slow answer is not.
        let isLost = code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR || code == CURLE_GOT_NOTHING
        self = secured == 0 || isLost ? .doubtful : .done
    }
}
