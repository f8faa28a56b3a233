package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"time"
)

// CheckNode returns an error unless c is the certificate of a node.
func CheckNode(c *x509.Certificate) error {
	id, err := IdentityOf(c)
	if err != nil {
		return err
	}
	if id.Role != RoleNode {
		return fmt.Errorf("it is that of %s, and a node needs one of role node: make it with kvctl ca node", id)
	}
	return nil
}

// PeerListener returns the configuration of a node's end of a connection that a peer makes. The peer's certificate is
// not checked by the handshake: CheckPeer does that after it, so that the peer can be told why it is refused.
func (f *Files) PeerListener() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		ClientAuth: tls.RequestClientCert,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return f.Certificate(), nil
		},
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true,
	}
}

// PeerDialler is PeerListener for the node that makes the connection.
func (f *Files) PeerDialler() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return f.Certificate(), nil
		},
		InsecureSkipVerify:          true, // by names of hosts; CheckPeer verifies the node
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true,
	}
}

// CheckPeer returns who is at the other end of a connection between nodes, after the handshake and before anything is
// read. It must be a node of this cluster, by a certificate that one of the authorities has signed and that is valid
// now. Which node it may be is for the caller to say.
func (f *Files) CheckPeer(s tls.ConnectionState, now time.Time) (Identity, error) {
	return f.checkPeer(s.PeerCertificates, now)
}

// AdmitPeer is CheckPeer for a connection that is to stay open. conn, which is below TLS, is closed when the peer's
// certificate is revoked, until forget is called.
func (f *Files) AdmitPeer(conn io.Closer, s tls.ConnectionState, now time.Time) (id Identity, forget func(),
	err error) {
	if id, err = f.CheckPeer(s, now); err != nil {
		return Identity{}, nil, err
	}
	ways, err := verify(s.PeerCertificates, f.Pool(), f.revoked, now, x509.ExtKeyUsageClientAuth)
	if err == nil {
		forget, err = f.revoked.keep(conn, ways)
	}
	if err != nil { // the files have changed since
		return Identity{}, nil, fmt.Errorf("the certificate of %s is refused: %s", id, why(err, now))
	}
	return id, forget, nil
}

func (f *Files) checkPeer(chain []*x509.Certificate, now time.Time) (Identity, error) {
	ours := f.now.Load()
	if len(chain) == 0 {
		return Identity{}, fmt.Errorf("it shows no certificate, and nodes of cluster %s must: start it with the files "+
			"that kvctl ca node makes", ours.identity.Cluster)
	}
	leaf := chain[0]
	verify := func(oneOf ...x509.ExtKeyUsage) error {
		_, err := verify(chain, ours.pool, f.revoked, now, oneOf...)
		return err
	}
	if err := verify(x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth); err != nil {
		return Identity{}, fmt.Errorf("the certificate of %s is refused: %s", owner(leaf), why(err, now))
	}
	id, err := IdentityOf(leaf)
	if err != nil {
		return Identity{}, fmt.Errorf("the certificate of %s names no node: %w", owner(leaf), err)
	}
	if id.Cluster != ours.identity.Cluster {
		return Identity{}, fmt.Errorf("the certificate of %s is of cluster %s, and this node's of cluster %s", id, id.Cluster,
			ours.identity.Cluster)
	}
	if id.Role != RoleNode {
		return Identity{}, fmt.Errorf("the certificate of %s is of role %s, and only nodes are peers", id, id.Role)
	}
	// A node is at both ends of connections, and so must its certificate be for both.
	if verify(x509.ExtKeyUsageClientAuth) != nil || verify(x509.ExtKeyUsageServerAuth) != nil {
		return Identity{}, fmt.Errorf("the certificate of %s is for servers only, or for clients only: a node is both, "+
			"extendedKeyUsage must have serverAuth and clientAuth", id)
	}
	return id, nil
}
