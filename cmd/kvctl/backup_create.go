//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/internal/input"
	"tenure/server/backup"
	"tenure/server/backup/target"
)

// backupCreateFlags are the flags of kvctl backup create.
type backupCreateFlags struct {
	force                      bool
	recipients, recipientFiles []string
}

func newBackupCreate(a *app) *cobra.Command {
	var f backupCreateFlags
	cmd := &cobra.Command{
		Use:   "create FILE|DIR|URL|-",
		Short: "Write a backup of the whole store to a file, a directory, a bucket or standard output",
		Long: "Write a backup of the whole store at one revision: keys, sessions, fences and the remembered\n" +
			"idempotency keys. It contains every write that was acknowledged before the command began. Any\n" +
			"node that knows a master can send it, while the cluster keeps running.\n\n" +
			"The backup is verified while it is read, and it is stored completely or not at all. A FILE is\n" +
			"written as FILE.partial, synced, and then renamed. An existing FILE is kept unless --force is\n" +
			"given. In an existing directory, or in the bucket of s3://BUCKET/PREFIX, the name consists of\n" +
			"cluster, date and revision. With --recipient or --recipients-file the backup is encrypted to\n" +
			"these recipients (age-encryption.org). kvnode restore makes a new cluster from a backup.",
		Example: "  kvctl backup create /backups/\n" +
			"  kvctl backup create 's3://backups/tenure?region=eu-central-1' --recipients-file recipients.txt\n" +
			"  kvctl backup create - | ssh vault 'cat > tenure.backup'",
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.noReadMode(); err != nil {
				return err
			}
			ctx, cancel := a.bounded(cmd)
			defer cancel()
			recipients, err := input.Await(ctx, "the files of recipients", func() ([]age.Recipient, error) {
				return target.Recipients(f.recipients, f.recipientFiles)
			})
			if err != nil {
				return badInput(err)
			}
			if len(recipients) == 0 && len(f.recipientFiles) > 0 {
				return usage("the files of recipients name none")
			}
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			to := args[0]
			a.changes = to != "-"
			if err := target.CheckText(to); err != nil {
				return usageError{err}
			}
			switch {
			case to == "-":
				return a.backupToStdout(ctx, c, recipients)
			case isTarget(to) && f.force:
				return usage("--force is for a FILE; in %s each backup has a name of its own", to)
			case isTarget(to):
				return a.backupToTarget(ctx, c, to, recipients)
			}
			return a.backupToFile(ctx, c, to, f.force, recipients)
		},
	}
	cmd.Flags().BoolVar(&f.force, "force", false, "replace FILE if it is there, once the new backup is whole")
	cmd.Flags().StringArrayVar(&f.recipients, "recipient", nil, "encrypt to this age recipient, age1… (repeatable)")
	cmd.Flags().StringArrayVar(&f.recipientFiles, "recipients-file", nil,
		"encrypt to the age recipients in this file, one on a line (repeatable)")
	a.timeoutFlag(cmd, "time limit (default: none, but 10s to find a node)")
	return cmd
}

// isTarget reports whether text names a place for many backups: a URL, or a directory.
func isTarget(text string) bool {
	if target.IsURL(text) || strings.HasSuffix(text, "/") {
		return true
	}
	info, err := os.Stat(text)
	return err == nil && info.IsDir()
}

func (a *app) backupToStdout(ctx context.Context, c *client.Client, recipients []age.Recipient) error {
	if a.onTerminal(a.stdout) {
		return usage("a backup is no text for a terminal; name a file, or redirect the output")
	}
	out, err := a.receiveBackup(ctx, c, a.stdout, recipients)
	if err != nil {
		return err
	}
	a.note("cluster %s, revision %d, %d records, %d bytes", out.Cluster, out.Revision, out.Records, out.Bytes)
	return nil
}

// backupToTarget stores a backup in a directory or a bucket, under the name of backup.NameOf.
func (a *app) backupToTarget(ctx context.Context, c *client.Client, to string, recipients []age.Recipient) error {
	t, err := openTarget(to)
	if err != nil {
		return err
	}
	defer t.Close()
	body, err := c.Nodes().Backup(ctx)
	if err != nil {
		return err
	}
	defer body.Close()
	var begun bytes.Buffer
	into := &switched{w: &begun}
	b, err := backup.Open(io.TeeReader(body, into))
	if err != nil {
		return err
	}
	name := backup.NameOf(b.Info())
	r, w := io.Pipe()
	into.w = w
	all := io.MultiReader(&begun, r)
	if len(recipients) > 0 {
		name += target.EncryptedSuffix
		if all, err = age.EncryptReader(all, recipients...); err != nil {
			return err
		}
	}
	stored := make(chan error, 1)
	go func() {
		err := t.Put(ctx, name, all)
		r.CloseWithError(errors.Join(err, errors.New("the target takes no more")))
		stored <- err
	}()
	out, err := a.verifyOpened(b, "backup")
	w.CloseWithError(err) // if err is nil this is io.EOF, so only a verified backup is stored
	if putErr := <-stored; putErr != nil && !errors.Is(putErr, err) || err == nil {
		err = putErr
	}
	if err != nil {
		return err
	}
	out.Encrypted = len(recipients) > 0
	out.File = target.Locate(t, name)
	return a.print(out, func(w io.Writer) error {
		if err := out.text(w); err != nil {
			return err
		}
		_, err := io.WriteString(w, "file      "+out.File+"\n")
		return err
	})
}

// switched writes to w, which may be replaced between two writes.
type switched struct{ w io.Writer }

func (s *switched) Write(p []byte) (int, error) { return s.w.Write(p) }

// receiveBackup writes a backup to w and verifies it at the same time.
func (a *app) receiveBackup(
	ctx context.Context, c *client.Client, w io.Writer, recipients []age.Recipient,
) (backupJSON, error) {
	body, err := c.Nodes().Backup(ctx)
	if err != nil {
		return backupJSON{}, err
	}
	defer body.Close()
	if len(recipients) == 0 {
		return a.readBackup(io.TeeReader(body, w), "backup")
	}
	sealed, err := age.Encrypt(w, recipients...)
	if err != nil {
		return backupJSON{}, err
	}
	out, err := a.readBackup(io.TeeReader(body, sealed), "backup")
	if err == nil { // otherwise its end, which marks it as complete, is not written
		err = sealed.Close()
	}
	out.Encrypted = true
	return out, err
}
