package devcluster

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tenure/internal/certs"
)

// TLSDir is the directory within the cluster's that has its authority and certificates.
const TLSDir = "tls"

// clusterName is that of the certificates of a cluster on one machine.
const clusterName = "dev"

// hosts are those of a node on this machine.
var hosts = []string{"127.0.0.1", "::1", "localhost"}

// Plan gives n the names of the files of TLS in the cluster's directory, under the name of the node. MakeFiles makes them.
func (n *Node) Plan(dir, name string) {
	path := filepath.Join(dir, TLSDir)
	n.CA, n.Cert = filepath.Join(path, certs.BundleName), certFile(path, certs.RoleNode, name)
}

// MakeFiles makes the authority, the certificate of the node and that of a client, as far as they are not there yet.
func (n *Node) MakeFiles() error {
	path := filepath.Dir(n.CA)
	if _, err := os.Stat(n.CA); errors.Is(err, fs.ErrNotExist) {
		if _, err := certs.Init(path, clusterName, time.Now(), certs.AuthorityValidity); err != nil {
			return err
		}
	}
	d, err := certs.Open(path)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(n.Cert), string(certs.RoleNode)+"-"), ".pem")
	for _, r := range []certs.Request{
		{Identity: certs.Identity{Role: certs.RoleNode, Name: name}, Hosts: hosts, Validity: certs.LeafValidity},
		{Identity: certs.Identity{Role: certs.RoleClient, Name: clusterName}, Validity: certs.LeafValidity},
	} {
		if _, err := os.Stat(certFile(path, r.Role, r.Name)); err == nil {
			continue
		}
		if _, err := d.Issue(r, "", time.Now()); err != nil {
			return err
		}
	}
	return nil
}

func certFile(dir string, role certs.Role, name string) string {
	return filepath.Join(dir, string(role)+"-"+name+".pem")
}
