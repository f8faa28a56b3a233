//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"tenure/internal/input"
	"tenure/server/backup/target"
	"tenure/server/recovery"
)

// backupVerify is a run of kvctl backup verify.
type backupVerify struct {
	*app
	restore, newest bool
	temp            string
	identityFiles   []string
	identities      []age.Identity
}

func newBackupVerify(a *app) *cobra.Command {
	x := &backupVerify{app: a}
	cmd := &cobra.Command{
		Use:   "verify FILE|URL|-...",
		Short: "Read backups, check all of each, and say what it is",
		Long: "Read whole backups and check them: all checksums, the order and the number of the records, and\n" +
			"that each backup is complete. No cluster is needed. With --restore a backup is also restored\n" +
			"into a temporary directory, like kvnode restore does it, read back and compared by its digest;\n" +
			"the directory is removed.\n\n" +
			"A URL names a backup in a bucket. With --newest the arguments are directories and buckets, and\n" +
			"the newest backup of each cluster in them is verified. Run that after each backup, or on a\n" +
			"schedule.",
		Example: "  kvctl backup verify tenure.backup\n" +
			"  kvctl backup verify --newest --restore 's3://backups/tenure?region=eu-central-1' --identity key.txt",
		Args: arguments(1, many),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.noReadMode(); err != nil {
				return err
			}
			if cmd.Flags().Changed("temp") && !x.restore {
				return usage("--temp is for --restore")
			}
			ctx, cancel := a.bounded(cmd)
			defer cancel()
			var err error
			if x.identities, err = readIdentities(ctx, x.identityFiles); err != nil {
				return err
			}
			if x.newest {
				if args, err = newestBackups(ctx, args); err != nil {
					return err
				}
			}
			return x.all(ctx, args)
		},
	}
	cmd.Flags().BoolVar(&x.restore, "restore", false, "restore it into a temporary directory, and compare")
	cmd.Flags().StringVar(&x.temp, "temp", "", "where to make that directory (default: that of the system)")
	cmd.Flags().BoolVar(&x.newest, "newest", false,
		"the arguments are directories and buckets: verify the newest backup there")
	identityFlag(cmd, &x.identityFiles)
	a.timeoutFlag(cmd, "time limit (default: none)")
	return cmd
}

// newestBackups returns the texts of the newest backup of each cluster in the targets.
func newestBackups(ctx context.Context, targets []string) (all []string, err error) {
	for _, text := range targets {
		t, err := openTarget(text)
		if err != nil {
			return nil, err
		}
		defer t.Close()
		found, err := listBackups(ctx, t)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("there is no backup in %s: nothing was verified", t)
		}
		for i, b := range found {
			if i == 0 || b.Cluster != found[i-1].Cluster {
				all = append(all, target.Locate(t, b.Name))
			}
		}
	}
	return all, nil
}

// all verifies all of the backups, even after one that is damaged.
func (x *backupVerify) all(ctx context.Context, all []string) error {
	var errs []error
	for i, text := range all {
		out, err := x.one(ctx, text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", text, withAdvice(err)))
			continue
		}
		err = x.print(out, func(w io.Writer) error {
			if len(all) > 1 || x.newest {
				space := "\n"
				if i == 0 {
					space = ""
				}
				fmt.Fprintf(w, "%sfile      %s\n", space, text)
			}
			if err := out.text(w); err != nil || !x.restore {
				return err
			}
			_, err := fmt.Fprintln(w, "restored into a temporary directory: all records are there, and their digest "+
				"is that of the backup")
			return err
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

func (x *backupVerify) one(ctx context.Context, text string) (backupJSON, error) {
	r, name := io.NopCloser(x.stdin), standardInput
	if text != "-" {
		name = text
		var err error
		if info, err := os.Stat(text); err == nil && info.IsDir() {
			return backupJSON{}, usage("it is a directory; --newest verifies the newest backup of each cluster in it")
		}
		if r, err = openBackup(ctx, text); err != nil {
			return backupJSON{}, err
		}
	}
	defer r.Close()
	plain, encrypted, err := target.Plain(input.NewReader(ctx, r, name), x.identities)
	if err != nil {
		return backupJSON{}, err
	}
	out, err := x.read(plain)
	out.File, out.Encrypted = text, encrypted
	return out, err
}

// openBackup opens the backup that text names. The caller closes it.
func openBackup(ctx context.Context, text string) (io.ReadCloser, error) {
	return input.Await(ctx, text, func() (io.ReadCloser, error) {
		r, _, err := target.OpenObject(ctx, text)
		return r, err
	})
}

// read verifies the backup in r, which is not encrypted.
func (x *backupVerify) read(r io.Reader) (backupJSON, error) {
	if !x.restore {
		return x.readBackup(r, "verify")
	}
	dir, err := os.MkdirTemp(x.temp, "kvctl-restore-")
	if err != nil {
		return backupJSON{}, err
	}
	counted := &countingReader{r: r}
	_, info, err := recovery.Restore(counted, dir)
	err = errors.Join(err, os.RemoveAll(dir))
	out := backupOut("", info, counted.bytes)
	out.Restored = err == nil
	return out, err
}

// countingReader counts the bytes that are read.
type countingReader struct {
	r     io.Reader
	bytes uint64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.bytes += uint64(n)
	return n, err
}
