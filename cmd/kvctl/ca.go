package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenure/internal/certs"
	"tenure/internal/days"
)

// defaultCADir is the directory of an authority if none is named.
const defaultCADir = "./tenure-ca"

// otherFiles is a sentence of the help of commands that look into the directory of an authority.
const otherFiles = "Certificates that are\nelsewhere, such as those that were made with --out, are not looked for: " +
	"name their files."

func newCA(a *app) *cobra.Command {
	var dir string
	cmd := group(&cobra.Command{
		Use:   "ca",
		Short: "Make, renew and revoke the certificates of a cluster",
		Long: "Make the authority of a cluster, and the certificates of its nodes and clients. All of it happens in a\n" +
			"directory on this machine; no node is asked. The authority's key, ca-key.pem, stays in that directory:\n" +
			"a node needs ca.pem, its own certificate and its own key, and nothing else. Files of another authority\n" +
			"work as well, if a node's certificate has the URI tenure://CLUSTER/node/NAME.",
	}, newCAInit(a), newCAIssue(a, certs.RoleNode, &dir), newCAIssue(a, certs.RoleClient, &dir), newCARenew(a, &dir),
		newCARetire(a, &dir), newCARevoke(a, &dir), newCAShow(a, &dir))
	for _, c := range cmd.Commands() {
		if c.Name() != "init" {
			c.Flags().StringVar(&dir, "dir", defaultCADir, "directory of the authority")
		}
	}
	return cmd
}

func newCAInit(a *app) *cobra.Command {
	var cluster string
	validity := lasting{certs.AuthorityValidity}
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Make the authority of a cluster, in a new directory",
		Long: "Make the authority of a cluster: its certificate in DIR/ca.pem, for every node and client, and its key in\n" +
			"DIR/ca-key.pem, for nobody: who has it can make a certificate for anybody. Nothing is overwritten.",
		Example: "  kvctl ca init ./tenure-ca --cluster prod",
		Args:    arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			a.changes = true
			dir := cmp.Or(optional(args), defaultCADir)
			if err := certs.CheckCluster(cluster); err != nil {
				return usage("--cluster: %w", err)
			}
			d, err := certs.Init(dir, cluster, time.Now(), validity.d)
			if err != nil {
				return err
			}
			list, err := d.Show(time.Now())
			if err != nil {
				return err
			}
			return a.printf(caFiles{Cert: filepath.Join(dir, certs.BundleName), Key: filepath.Join(dir, certs.KeyName),
				Until: list[0].To}, "%s   for every node and client\n%s   stays here: who has it can make certificates\n",
				filepath.Join(dir, certs.BundleName), filepath.Join(dir, certs.KeyName))
		},
	}
	cmd.Flags().StringVar(&cluster, "cluster", "tenure", "name of the cluster in its certificates, such as prod")
	cmd.Flags().Var(&validity, "validity", "how long the authority is valid, such as 3650d")
	return cmd
}

// newCAIssue is ca node and ca client.
func newCAIssue(a *app, role certs.Role, dir *string) *cobra.Command {
	var out string
	var hosts []string
	validity := lasting{certs.LeafValidity}
	cmd := &cobra.Command{
		Use:   string(role) + " NAME",
		Short: "Make the certificate and key of a " + string(role),
		Args:  arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			a.changes = true
			if err := certs.CheckName(args[0]); err != nil {
				return usageError{err}
			}
			if role == certs.RoleNode && len(cleanEndpoints(hosts)) == 0 {
				return usage("a node's certificate needs the names and addresses at which clients reach it: " +
					"give them with --hosts, as in --hosts 10.0.0.1,n1.example.com")
			}
			d, release, err := openCA(*dir)
			if err != nil {
				return err
			}
			defer release()
			w, err := d.Issue(certs.Request{Identity: certs.Identity{Role: role, Name: args[0]},
				Hosts: cleanEndpoints(hosts), Validity: validity.d}, out, time.Now())
			if err != nil {
				return err
			}
			return a.printWrittenPair(w)
		},
	}
	if role == certs.RoleNode {
		cmd.Long = "Make the certificate and key of a node: node-NAME.pem and node-NAME-key.pem. NAME is what kvctl member\n" +
			"list calls the node; a node of --cluster is node-ID unless its certificate named it when the cluster was\n" +
			"formed. Clients take the node under the names and addresses of --hosts. Nothing is overwritten."
		cmd.Example = "  kvctl ca node n1 --hosts 10.0.0.1,n1.example.com --dir ./tenure-ca"
		cmd.Flags().StringSliceVar(&hosts, "hosts", nil, "names and IP addresses at which clients reach the node")
	} else {
		cmd.Long = "Make the certificate and key of a client: client-NAME.pem and client-NAME-key.pem. A node that is started\n" +
			"with --tls-client-ca asks for it. It is not a node's, and no node takes it for one. Nothing is overwritten."
		cmd.Example = "  kvctl ca client deploy --dir ./tenure-ca"
	}
	cmd.Flags().StringVar(&out, "out", "", "directory for the two files (default: that of --dir)")
	cmd.Flags().Var(&validity, "validity", "how long the certificate is valid, such as 365d")
	return cmd
}

func newCARenew(a *app, dir *string) *cobra.Command {
	var authority bool
	var validity lasting
	cmd := &cobra.Command{
		Use:   "renew [FILE]...",
		Short: "Make certificates anew, before they expire, or the authority",
		Long: "Make a new certificate and a new key for whoever each FILE names, with the same hosts, in the place of the\n" +
			"files; without FILE, for all nodes and clients in the directory. A node or client that uses the files takes\n" +
			"the new ones within seconds, and keeps its connections. " + otherFiles + "\n\n" +
			"With --authority, make another authority, which signs from now on. ca.pem has both then, so that the\n" +
			"certificates of either are taken: give it to every node and client, renew all certificates, give those out\n" +
			"too, and end it with kvctl ca retire and the ca.pem that it leaves.",
		Example: "  kvctl ca renew --dir ./tenure-ca\n  kvctl ca renew --authority",
		Args:    arguments(0, many),
		RunE: func(_ *cobra.Command, args []string) error {
			a.changes = true
			d, release, err := openCA(*dir)
			if err != nil {
				return err
			}
			defer release()
			if authority {
				return a.renewAuthority(d, *dir, args, validity.d)
			}
			if len(args) == 0 {
				if args, err = d.Leaves(); err != nil {
					return err
				}
			}
			if len(args) == 0 {
				return fmt.Errorf("%s has no certificate of a node or client: make one with kvctl ca node", *dir)
			}
			for _, file := range args {
				w, err := d.Renew(file, validity.d, time.Now())
				if err != nil {
					return err
				}
				_ = a.printWrittenPair(w) // run reports it, once all of them are renewed
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&authority, "authority", false, "make another authority beside the one there is")
	cmd.Flags().Var(&validity, "validity", "how long it is valid, such as 365d (default: as long as the one before)")
	return cmd
}

func (a *app) renewAuthority(d *certs.Dir, dir string, args []string, validity time.Duration) error {
	if len(args) > 0 {
		return usage("--authority renews no certificate: leave out %s, and renew it afterwards", args[0])
	}
	validity = cmp.Or(validity, certs.AuthorityValidity)
	c, err := d.RenewAuthority(validity, time.Now())
	if err != nil {
		return err
	}
	bundle := filepath.Join(dir, certs.BundleName)
	return a.printf(caFiles{Cert: bundle, Key: filepath.Join(dir, certs.KeyName), Until: c.NotAfter},
		"%s   has the old and the new authority: give it to every node and client before you renew a certificate\n", bundle)
}

// openCA opens the directory of an authority for a command that changes it, which calls release in the end.
func openCA(path string) (d *certs.Dir, release func(), err error) {
	if release, err = certs.Hold(path); err != nil {
		return nil, nil, err
	}
	if d, err = certs.Open(path); err != nil {
		release()
		return nil, nil, err
	}
	return d, release, nil
}

func newCARetire(a *app, dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "retire [FILE]...",
		Short: "Take the old authorities out of ca.pem, after renew --authority",
		Long: "Take all authorities but the one that signs out of ca.pem, and their lists out of crl.pem. It is refused\n" +
			"while a certificate in the directory, or in a FILE, is signed by another one. " + otherFiles,
		Example: "  kvctl ca retire --dir ./tenure-ca ./moved/node-n3.pem",
		Args:    arguments(0, many),
		RunE: func(_ *cobra.Command, args []string) error {
			d, release, err := openCA(*dir)
			if err != nil {
				return err
			}
			defer release()
			a.changes = true
			gone, err := d.Retire(time.Now(), args...)
			if err != nil {
				return err
			}
			a.note("certificates of the old authority are refused from now on; those outside %s were not looked at, but for "+
				"the files that were named", *dir)
			bundle := filepath.Join(*dir, certs.BundleName)
			return a.printf(struct {
				Retired int    `json:"retired"`
				Cert    string `json:"cert"`
			}{len(gone), bundle}, "%s   has the authority that signs, and no other: give it to every node and client\n", bundle)
		},
	}
}

func newCAShow(a *app, dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "show [FILE]...",
		Short: "Show the authority and the certificates in its directory",
		Long: "Show the authority and the certificates in its directory and in each FILE, and how many are on its list of\n" +
			"revoked ones: with --json, which. The exit code is 1 if one of them is of no use now, or the next update of\n" +
			"the list is overdue. " + otherFiles,
		Example: "  kvctl ca show --dir ./tenure-ca ./moved/node-n3.pem",
		Args:    arguments(0, many),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := certs.Open(*dir)
			if err != nil {
				return err
			}
			list, err := d.Show(time.Now(), args...)
			if err != nil {
				return err
			}
			var problem error
			rows, shown := [][]string{}, []caShown{}
			for _, s := range list {
				note := s.Problem
				if note != "" {
					problem = errQuiet
				} else if s.Signs {
					note = "signs"
				} else if s.List != nil {
					note = countRevoked(s.List)
				}
				rows = append(rows, []string{s.File, s.Named, orDash(strings.Join(s.Hosts, ",")),
					s.To.UTC().Format("2006-01-02 15:04"), orDash(note)})
				row := caShown{s.File, s.Named, s.Hosts, s.From, s.To, s.Signs, nil, s.Problem}
				if s.List != nil {
					row.Revoked = caEntries(s.List)
				}
				shown = append(shown, row)
			}
			return errors.Join(problem, a.print(shown, func(w io.Writer) error {
				return table(w, []string{"file", "of", "hosts", "until (UTC)", "note"}, rows)
			}))
		},
	}
}

// caShown is a row of ca show with --json.
type caShown struct {
	File    string      `json:"file"`
	Of      string      `json:"of"`
	Hosts   []string    `json:"hosts,omitempty"`
	From    time.Time   `json:"from"`
	Until   time.Time   `json:"until"`
	Signs   bool        `json:"signs,omitempty"`
	Revoked []caRevoked `json:"revoked,omitempty"` // of a list of revoked certificates, which is to be followed by Until
	Problem string      `json:"problem,omitempty"`
}

// caFiles are files that were written, with --json.
type caFiles struct {
	Cert  string    `json:"cert"`
	Key   string    `json:"key"`
	Of    string    `json:"of,omitempty"`
	Until time.Time `json:"until"`
}

func (a *app) printWrittenPair(w certs.Written) error {
	id, err := certs.IdentityOf(w.Leaf)
	if err != nil {
		return err
	}
	return a.printf(caFiles{w.Cert, w.Key, id.String(), w.Leaf.NotAfter}, "%s   %s, until %s\n%s\n", w.Cert, id,
		w.Leaf.NotAfter.UTC().Format("2006-01-02 15:04 UTC"), w.Key)
}

// lasting is the value of a flag that takes a time in days or in Go's units.
type lasting struct{ d time.Duration }

// String returns the flag's value.
func (l *lasting) String() string {
	switch day := 24 * time.Hour; {
	case l.d == 0:
		return ""
	case l.d%day == 0:
		return strconv.Itoa(int(l.d/day)) + "d"
	}
	return l.d.String()
}

// Type returns the name of the value in help texts.
func (l *lasting) Type() string { return "TIME" }

// Set reads the flag's value.
func (l *lasting) Set(s string) error {
	d, err := days.Parse(s)
	if err != nil || d <= 0 {
		return errors.New("must be a time with its unit, such as 365d or 12h")
	}
	l.d = d
	return nil
}
