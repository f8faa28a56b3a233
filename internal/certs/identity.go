package certs

import (
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Scheme is that of the URIs in certificates.
const Scheme = "tenure"

// Role is what the owner of a certificate is in its cluster.
type Role string

// The roles.
const (
	RoleNode   Role = "node"
	RoleClient Role = "client"
	// RoleAuthority is that of an authority's own certificate, which has no name. Nobody connects with it.
	RoleAuthority Role = "authority"
)

// Identity is what a certificate says of its owner, in a URI among its alternative names:
//
//	tenure://CLUSTER/node/NAME
//	tenure://CLUSTER/client/NAME
//	tenure://CLUSTER/authority
//
// Each identity has one spelling only, so that two which differ for one program are not the same for another.
type Identity struct {
	Cluster string // the cluster's name, which its operator chose
	Role    Role
	Name    string // of the node, as the members know it, or of the client
}

// Bounds of the names. A cluster's is the host of a URI, so crypto/x509 wants it to be a domain name.
const (
	maxClusterBytes = 63
	maxNameBytes    = 64
)

// String returns the URI.
func (id Identity) String() string {
	if id.Role == RoleAuthority {
		return Scheme + "://" + id.Cluster + "/" + string(id.Role)
	}
	return Scheme + "://" + id.Cluster + "/" + string(id.Role) + "/" + id.Name
}

// Validate returns an error that says what is wrong with id, or nil.
func (id Identity) Validate() error {
	if err := CheckCluster(id.Cluster); err != nil {
		return err
	}
	switch id.Role {
	case RoleNode, RoleClient:
		return CheckName(id.Name)
	case RoleAuthority:
		if id.Name != "" {
			return errors.New("an authority has no name")
		}
		return nil
	}
	return fmt.Errorf("%.20q is no role: it is node or client", id.Role)
}

// CheckCluster returns an error unless s can be the name of a cluster in certificates.
func CheckCluster(s string) error {
	ok := s != "" && len(s) <= maxClusterBytes && s[0] != '-' && s[len(s)-1] != '-'
	for i := range len(s) {
		ok = ok && (lowerOrDigit(s[i]) || s[i] == '-')
	}
	if !ok {
		return fmt.Errorf("%.80q cannot be the name of a cluster: use 1 to %d of a-z, 0-9 and, within, -", s, maxClusterBytes)
	}
	return nil
}

// CheckName returns an error unless s can be the name of a node or client in certificates.
func CheckName(s string) error {
	ok := s != "" && len(s) <= maxNameBytes && s[0] != '.' && s[0] != '-'
	for i := range len(s) {
		c := s[i]
		ok = ok && (lowerOrDigit(c) || c >= 'A' && c <= 'Z' || c == '-' || c == '_' || c == '.')
	}
	if !ok {
		return fmt.Errorf("%.80q cannot be a name in a certificate: use 1 to %d of a-z, A-Z, 0-9, - _ and ., and begin with "+
			"a letter or digit", s, maxNameBytes)
	}
	return nil
}

func lowerOrDigit(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// url returns the URI for a certificate.
func (id Identity) url() *url.URL {
	path := "/" + string(id.Role)
	if id.Name != "" {
		path += "/" + id.Name
	}
	return &url.URL{Scheme: Scheme, Host: id.Cluster, Path: path}
}

// IdentityOf returns the identity that c names. It is an error if c names none, several, or one that is not spelt in c
// as Identity.String spells it.
func IdentityOf(c *x509.Certificate) (Identity, error) {
	found := slices.DeleteFunc(URIs(c), func(uri string) bool { return !ofScheme(uri) })
	switch len(found) {
	case 0:
		return Identity{}, fmt.Errorf("it has no URI %s://CLUSTER/ROLE/NAME: make one with kvctl ca", Scheme)
	case 1:
		return parseIdentity(found[0])
	}
	return Identity{}, fmt.Errorf("it has %d URIs of %s://, and one is allowed", len(found), Scheme)
}

// ofScheme reports whether a URI has the scheme of identities, however it is spelt.
func ofScheme(uri string) bool {
	scheme, _, _ := strings.Cut(uri, ":")
	return strings.EqualFold(scheme, Scheme)
}

// Names returns the URIs of c under which something may be granted to its owner. What has the scheme of identities is
// one of them only if IdentityOf takes it.
func Names(c *x509.Certificate) []string {
	all := URIs(c)
	if _, err := IdentityOf(c); err != nil {
		all = slices.DeleteFunc(all, ofScheme)
	}
	return all
}

// URIs returns the URIs of c as they are spelt in it: a url.URL has another spelling of some. Without extensions, in a
// certificate that was not read but is to be signed, they are those of c.URIs.
func URIs(c *x509.Certificate) (list []string) {
	if len(c.Extensions) == 0 {
		for _, u := range c.URIs {
			list = append(list, u.String())
		}
		return list
	}
	for _, e := range c.Extensions {
		if !e.Id.Equal(subjectAltName) {
			continue
		}
		var names []asn1.RawValue
		if _, err := asn1.Unmarshal(e.Value, &names); err != nil {
			return nil // crypto/x509 has read it before
		}
		for _, n := range names {
			if n.Class == asn1.ClassContextSpecific && n.Tag == uriTag {
				list = append(list, string(n.Bytes))
			}
		}
	}
	return list
}

// subjectAltName is the extension with the alternative names, RFC 5280, 4.2.1.6.
var subjectAltName = asn1.ObjectIdentifier{2, 5, 29, 17}

const uriTag = 6 // of a URI in it

func parseIdentity(s string) (Identity, error) {
	rest, _ := strings.CutPrefix(s, Scheme+"://")
	cluster, rest, _ := strings.Cut(rest, "/")
	role, name, _ := strings.Cut(rest, "/")
	id := Identity{Cluster: cluster, Role: Role(role), Name: name}
	if err := id.Validate(); err != nil || id.String() != s {
		return Identity{}, fmt.Errorf("its URI %.200q is not %s://CLUSTER/node/NAME or %[2]s://CLUSTER/client/NAME", s, Scheme)
	}
	return id, nil
}
