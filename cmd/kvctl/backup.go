//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"tenure/internal/input"
	"tenure/server/backup"
	"tenure/server/backup/target"
)

func newBackup(a *app) *cobra.Command {
	return group(&cobra.Command{Use: "backup", Short: "Make, verify, list and prune backups of the whole store"},
		newBackupCreate(a), newBackupVerify(a), newBackupList(a), newBackupPrune(a), newBackupStatus(a))
}

// backupJSON is the output about a backup with --json.
type backupJSON struct {
	File     string    `json:"file"`
	Cluster  string    `json:"cluster"`
	Revision uint64    `json:"revision"`
	Slot     uint64    `json:"slot"`
	Era      uint64    `json:"era"`
	Made     time.Time `json:"made"`
	Records  uint64    `json:"records"`
	Bytes    uint64    `json:"bytes"`
	Restored bool      `json:"restored"`
	// Encrypted is true if the stored backup is encrypted. Bytes is its length without encryption.
	Encrypted bool `json:"encrypted"`
}

func backupOut(file string, i backup.Info, bytes uint64) backupJSON {
	return backupJSON{
		File: file, Cluster: i.Cluster.String(), Revision: i.Revision, Slot: i.Slot, Era: i.Era, Made: i.Made.UTC(),
		Records: i.Records, Bytes: bytes,
	}
}

func (b *backupJSON) text(w io.Writer) error {
	_, err := fmt.Fprintf(w, "cluster   %s\nrevision  %d\nera       %d\nmade      %s\nrecords   %d\nbytes     %d\n",
		b.Cluster, b.Revision, b.Era, b.Made.Format(time.RFC3339), b.Records, b.Bytes)
	return err
}

// readBackup reads and verifies a whole backup.
func (p *printer) readBackup(r io.Reader, name string) (backupJSON, error) {
	b, err := backup.Open(r)
	if err != nil {
		return backupJSON{}, err
	}
	return p.verifyOpened(b, name)
}

// verifyOpened reads and verifies the rest of a backup, and shows its progress.
func (p *printer) verifyOpened(b *backup.Reader, name string) (backupJSON, error) {
	meter := p.meter(name, max(int64(b.Info().Records), 1), "records")
	err := b.Verify(func(records uint64) {
		if records%1000 == 0 {
			meter.Set(int64(records), "")
		}
	})
	meter.End()
	return backupOut("", b.Info(), b.Offset()), err
}

// openTarget opens the target that text names. The caller closes it.
func openTarget(text string) (target.Target, error) {
	t, err := target.Open(text, target.Config{})
	if err != nil {
		return nil, usageError{err}
	}
	return t, nil
}

// identityFlag adds the flag --identity.
func identityFlag(cmd *cobra.Command, files *[]string) {
	cmd.Flags().StringArrayVar(files, "identity", nil, "file with the age identity to decrypt with (repeatable)")
}

// readIdentities reads the files that --identity names.
func readIdentities(ctx context.Context, files []string) ([]age.Identity, error) {
	identities, err := input.Await(ctx, "the files of identities", func() ([]age.Identity, error) {
		return target.Identities(files)
	})
	if err != nil {
		return nil, badInput(err)
	}
	return identities, nil
}

// withAdvice adds to err which flag of kvctl is missing or wrong.
func withAdvice(err error) error {
	switch {
	case errors.Is(err, target.ErrNoIdentity):
		return fmt.Errorf("%w; give --identity FILE", err)
	case errors.Is(err, target.ErrWrongIdentity):
		return fmt.Errorf("%w; give the --identity of one of its recipients", err)
	}
	return err
}
