package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tenure/internal/certs"
)

func newCARevoke(a *app, dir *string) *cobra.Command {
	validity := lasting{certs.ListValidity}
	cmd := &cobra.Command{
		Use:   "revoke [FILE]...",
		Short: "Revoke certificates, or write the list of those that were revoked anew",
		Long: "Put the certificate in each FILE on the list of revoked certificates, crl.pem in the directory of the\n" +
			"authority. Give the list to every node: one that is started with --tls-crl refuses the certificates on it\n" +
			"within seconds, also on connections that are open. FILE may be anywhere, and its key need not be there. A\n" +
			"renewal replaces the file, so revoke a certificate before you renew it.\n\n" +
			"Without FILE, write the list anew with the date of its next update moved on. Nodes heed a list whose next\n" +
			"update is overdue, and complain about it.",
		Example: "  kvctl ca revoke ./tenure-ca/client-deploy.pem --dir ./tenure-ca\n  kvctl ca revoke --dir ./tenure-ca",
		Args:    arguments(0, many),
		RunE: func(_ *cobra.Command, args []string) error {
			a.changes = true
			d, release, err := openCA(*dir)
			if err != nil {
				return err
			}
			defer release()
			list, done, err := d.Revoke(args, validity.d, time.Now())
			if err != nil {
				return err
			}
			for _, r := range done {
				_ = a.printRevocation(r) // run reports it, once the list is shown
			}
			return a.printf(caListOf(list), "%s   has %s, next update by %s: give it to every node\n", list.File,
				countRevoked(&list), list.Next.UTC().Format("2006-01-02 15:04 UTC"))
		},
	}
	cmd.Flags().Var(&validity, "validity", "within what time the list is to be written anew, such as 365d")
	return cmd
}

func (a *app) printRevocation(r certs.Revocation) error {
	of, said := r.File, "revoked"
	if id, err := certs.IdentityOf(r.Leaf); err == nil {
		of = id.String()
	}
	if r.Before {
		said = "was revoked before"
	}
	return a.printf(struct {
		File   string `json:"file"`
		Of     string `json:"of"`
		Serial string `json:"serial"`
		Before bool   `json:"before,omitempty"`
	}{r.File, of, r.Serial, r.Before}, "%s   %s, %s\n", r.File, of, said)
}

func countRevoked(l *certs.RevokedList) string {
	if len(l.Entries) == 1 {
		return "1 revoked certificate"
	}
	return fmt.Sprintf("%d revoked certificates", len(l.Entries))
}

// caList is a list of revoked certificates, with --json.
type caList struct {
	File    string      `json:"file"`
	Of      string      `json:"of"`
	Revoked []caRevoked `json:"revoked"`
	Next    time.Time   `json:"next_update"`
}

type caRevoked struct {
	Serial string    `json:"serial"`
	At     time.Time `json:"at"`
}

func caListOf(l certs.RevokedList) caList { return caList{l.File, l.Of, caEntries(&l), l.Next} }

func caEntries(l *certs.RevokedList) []caRevoked {
	out := []caRevoked{}
	for _, e := range l.Entries {
		out = append(out, caRevoked{e.Serial, e.At})
	}
	return out
}
