package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	line "tenure/internal/shown"
)

// why says what is wrong with a certificate.
func why(err error, now time.Time) string {
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var revoked *revokedError
	switch {
	case errors.As(err, &revoked):
		return revoked.Error()
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil &&
		now.Before(invalid.Cert.NotBefore):
		return fmt.Sprintf("it is not valid before %s, and it is %s here: check the clocks", day(invalid.Cert.NotBefore),
			day(now))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		return fmt.Sprintf("it expired on %s: renew it with kvctl ca renew", day(invalid.Cert.NotAfter))
	case errors.As(err, &unknown):
		return "none of the authorities that are known here has signed it: check the file of authorities"
	case errors.As(err, &host):
		names := "no host at all"
		if list := Hosts(host.Certificate); len(list) > 0 {
			names = plain(strings.Join(list, ", "))
		}
		return fmt.Sprintf("it is for %s, and not for %s: use one of those names, or make it anew with kvctl ca node --hosts",
			names, plain(host.Host))
	}
	return plain(err.Error())
}

// Explain explains an error of a connection to a server. If err is one of TLS, it returns an error that wraps err and
// says what to do, and ok is true; otherwise ok is false. own are the client's files.
func Explain(err error, own *Files, now time.Time) (meaning error, ok bool) {
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	var remote *net.OpError
	switch {
	case errors.As(err, &record) && record.RecordHeader[0] == 0: // a frame between nodes, of less than 16 MiB
		return explained{"it speaks no TLS, and is a node's port for its peers: give the address of its port for clients", err}, true
	case errors.As(err, &record):
		return explained{"it speaks no TLS: if it is a port for health checks, give the one for clients; else write http:// " +
			"for it, or start the node with --tls-cert", err}, true
	case errors.As(err, &verify):
		return explained{"its certificate is refused: " + why(verify.Err, now), err}, true
	case errors.As(err, &remote) && remote.Op == "remote error": // an alert, whose type crypto/tls keeps to itself
		text := alertText(remote.Err.Error())
		if text == refusesClient {
			text += own.whyRefused(now)
		}
		return explained{text, err}, true
	}
	return nil, false
}

// refusesClient is what nodes say of all that is wrong with a client's certificate, but in their logs.
const refusesClient = "it refuses the client's certificate"

// whyRefused returns why the certificate in the files is probably refused.
func (f *Files) whyRefused(now time.Time) string {
	c := f.now.Load()
	switch own := c.certificate; {
	case own == nil:
		return ""
	case now.After(own.Leaf.NotAfter):
		return fmt.Sprintf(", which expired on %s: renew it with kvctl ca renew", day(own.Leaf.NotAfter))
	case now.Before(own.Leaf.NotBefore):
		return fmt.Sprintf(", which is not valid before %s, and it is %s here: check the clocks", day(own.Leaf.NotBefore), day(now))
	case len(own.Certificate) > maxChain:
		return fmt.Sprintf(": its file has %d certificates, and %d at most are taken", len(own.Certificate), maxChain)
	}
	return ": perhaps it does not know the authority, or the certificate was revoked; its log says"
}

// alerts are those that say something about this end.
var alerts = []struct{ text, meaning string }{
	{"certificate required", "it wants a client's certificate: give one with --client-cert and --client-key"},
	{"unknown certificate authority", "it does not know the authority of the client's certificate"},
	{"expired certificate", "it says that the client's certificate has expired: renew it with kvctl ca renew"},
	{"bad certificate", refusesClient},
	{"protocol version not supported", "it speaks no version of TLS that this program does"},
}

// alertText says why the server has refused the connection.
func alertText(text string) string {
	for _, a := range alerts {
		if strings.HasSuffix(text, a.text) {
			return a.meaning
		}
	}
	return "it has ended the TLS handshake: " + plain(text)
}

// explained is an error of TLS in a user's words.
type explained struct {
	text string
	err  error
}

func (e explained) Error() string { return e.text }
func (e explained) Unwrap() error { return e.err }

// CommandForNode returns the command line that makes a certificate for the node of that name where the authority is,
// beside the files that are there. has is a certificate of the node's machine, whose hosts it takes; nil if none is
// known.
func CommandForNode(name string, has *x509.Certificate) string {
	hosts := "HOST"
	if has != nil && len(Hosts(has)) > 0 {
		hosts = line.Word(strings.Join(Hosts(has), ","))
	}
	return "kvctl ca node " + line.Word(name) + " --hosts " + hosts + " --dir ./tenure-ca --out ./new"
}
