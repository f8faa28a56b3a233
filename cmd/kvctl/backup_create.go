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

// backupCreate is a run of kvctl backup create.
type backupCreate struct {
	*app
	force                          bool
	recipientNames, recipientFiles []string
	recipients                     []age.Recipient // none: the backup is not encrypted
}

func newBackupCreate(a *app) *cobra.Command {
	x := &backupCreate{app: a}
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
			var err error
			x.recipients, err = input.Await(ctx, "the files of recipients", func() ([]age.Recipient, error) {
				return target.Recipients(x.recipientNames, x.recipientFiles)
			})
			if err != nil {
				return badInput(err)
			}
			if len(x.recipients) == 0 && len(x.recipientFiles) > 0 {
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
				return x.toStdout(ctx, c)
			case isTarget(to) && x.force:
				return usage("--force is for a FILE; in %s each backup has a name of its own", to)
			case isTarget(to):
				return x.toTarget(ctx, c, to)
			}
			return x.toFile(ctx, c, to)
		},
	}
	cmd.Flags().BoolVar(&x.force, "force", false, "replace FILE if it is there, once the new backup is whole")
	cmd.Flags().StringArrayVar(&x.recipientNames, "recipient", nil, "encrypt to this age recipient, age1… (repeatable)")
	cmd.Flags().StringArrayVar(&x.recipientFiles, "recipients-file", nil,
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

func (x *backupCreate) toStdout(ctx context.Context, c *client.Client) error {
	if x.onTerminal(x.stdout) {
		return usage("a backup is no text for a terminal; name a file, or redirect the output")
	}
	out, err := x.receive(ctx, c, x.stdout)
	if err != nil {
		return err
	}
	x.note("cluster %s, revision %d, %d records, %d bytes", out.Cluster, out.Revision, out.Records, out.Bytes)
	return nil
}

// toTarget stores a backup in a directory or a bucket, under the name of backup.NameOf.
func (x *backupCreate) toTarget(ctx context.Context, c *client.Client, to string) error {
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
	if len(x.recipients) > 0 {
		name += target.EncryptedSuffix
		if all, err = age.EncryptReader(all, x.recipients...); err != nil {
			return err
		}
	}
	stored := make(chan error, 1)
	go func() {
		err := t.Put(ctx, name, all)
		r.CloseWithError(errors.Join(err, errors.New("the target takes no more")))
		stored <- err
	}()
	out, err := x.verifyOpened(b, "backup")
	w.CloseWithError(err) // if err is nil this is io.EOF, so only a verified backup is stored
	if putErr := <-stored; putErr != nil && !errors.Is(putErr, err) || err == nil {
		err = putErr
	}
	if err != nil {
		return err
	}
	out.Encrypted = len(x.recipients) > 0
	out.File = target.Locate(t, name)
	return x.print(out, func(w io.Writer) error {
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

// receive writes a backup to w and verifies it at the same time.
func (x *backupCreate) receive(ctx context.Context, c *client.Client, w io.Writer) (backupJSON, error) {
	body, err := c.Nodes().Backup(ctx)
	if err != nil {
		return backupJSON{}, err
	}
	defer body.Close()
	if len(x.recipients) == 0 {
		return x.readBackup(io.TeeReader(body, w), "backup")
	}
	sealed, err := age.Encrypt(w, x.recipients...)
	if err != nil {
		return backupJSON{}, err
	}
	out, err := x.readBackup(io.TeeReader(body, sealed), "backup")
	if err == nil { // otherwise its end, which marks it as complete, is not written
		err = sealed.Close()
	}
	out.Encrypted = true
	return out, err
}
