//go:build linux

package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tenure/cmd/kvctl/internal/output"
	"tenure/cmd/kvctl/internal/records"
	"tenure/server/backup"
)

// exportCommand is a run of kvctl export.
type exportCommand struct {
	*app
	format, file string
	text, force  bool
}

// exported is the result of kvctl export.
type exported struct {
	File     string `json:"file"`
	Keys     int    `json:"keys"`
	Revision uint64 `json:"revision"` // the state of this revision was exported
	Expiring int    `json:"expiring"` // number of the keys that have a TTL
	Locked   int    `json:"locked"`   // number of the keys that a session holds
}

func newExport(a *app) *cobra.Command {
	x := &exportCommand{app: a}
	cmd := &cobra.Command{
		Use:   "export [PREFIX]",
		Short: "Write keys and values as text, all as of one revision",
		Long: "Write the keys that start with PREFIX, or all keys, with value, flags and time to live, all at\n" +
			"one revision. The keys are read from a backup: the node reads its whole store once, and writes\n" +
			"go on meanwhile. Sessions, locks and fences are not exported; kvctl backup create has them.\n\n" +
			"ndjson is one JSON object per line. Its fields are always in this order; the last two are\n" +
			"omitted if 0:\n\n" +
			"{\"key\":\"a\",\"value\":\"MTA=\",\"flags\":7,\"ttl\":\"30s\"}\n\n" +
			"The value is in base64; with --text, a value that is valid UTF-8 is \"text\" instead. consul is\n" +
			"the JSON array that consul kv export prints and consul kv import reads; it cannot express a time\n" +
			"to live.\n\n" +
			"With -o the file gets its name when it is complete. Without -o only exit code 0 means that the\n" +
			"output is complete.",
		Example: "  kvctl export -o all.ndjson\n  kvctl export jobs/ --text | jq -r .key\n" +
			"  kvctl export --format consul | consul kv import -",
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.noReadMode(); err != nil {
				return err
			}
			if x.format != string(records.NDJSON) && x.format != string(records.Consul) {
				return usage("--format %q: there is ndjson, and consul", x.format)
			}
			if x.text && x.format != string(records.NDJSON) {
				return usage("--text is for ndjson")
			}
			ctx, cancel := a.bounded(cmd)
			defer cancel()
			return x.export(ctx, optional(args))
		},
		ValidArgsFunction: a.completeKeys,
	}
	cmd.Flags().StringVar(&x.format, "format", string(records.NDJSON), "ndjson or consul")
	cmd.Flags().StringVarP(&x.file, "output", "o", "-", "the file to write")
	cmd.Flags().BoolVar(&x.text, "text", false, "write values that are UTF-8 as they are, instead of base64")
	cmd.Flags().BoolVar(&x.force, "force", false, "replace the file if it is there, once the new one is whole")
	a.timeoutFlag(cmd, "time limit (default: none, but 10s to find a node)")
	return cmd
}

func (x *exportCommand) export(ctx context.Context, prefix string) error {
	if x.file == "-" {
		out, err := x.writeTo(ctx, x.stdout, prefix)
		if err != nil {
			return err
		}
		x.noteExported(&out)
		return nil
	}
	var out exported
	err := writeFile(x.file, x.force, func(w io.Writer) (err error) {
		out, err = x.writeTo(ctx, w, prefix)
		return err
	})
	if err != nil {
		return err
	}
	out.File = x.file
	if x.json {
		return x.print(out, nil)
	}
	x.noteExported(&out)
	return nil
}

// noteExported prints how much was exported, and what the format leaves out.
func (x *exportCommand) noteExported(out *exported) {
	lost := ""
	if x.format == string(records.Consul) && out.Expiring > 0 {
		lost = "; the format has no place for the time to live of " + output.Plural(uint64(out.Expiring), "key")
	}
	if out.Locked > 0 {
		lost += "; " + output.Plural(uint64(out.Locked), "key") + " locked by a session, without its lock"
	}
	x.note("%s, as of revision %d%s", output.Plural(uint64(out.Keys), "key"), out.Revision, lost)
}

// writeTo writes the keys with prefix to w. When it returns nil the whole backup has been verified.
func (x *exportCommand) writeTo(ctx context.Context, w io.Writer, prefix string) (out exported, err error) {
	c, err := x.client(ctx)
	if err != nil {
		return out, err
	}
	body, err := c.Nodes().Backup(ctx)
	if err != nil {
		return out, err
	}
	defer body.Close()
	b, err := backup.Open(body)
	if err != nil {
		return out, err
	}
	meter := x.meter("export", max(int64(b.Info().Records), 1), "records")
	defer meter.End()
	to := records.NewWriter(w, records.Format(x.format), x.text)
	read := int64(0)
	err = b.Entries(func(e backup.Entry) error {
		if read++; read%1000 == 0 {
			meter.Set(read, "")
		}
		if !strings.HasPrefix(e.Key, prefix) {
			return nil
		}
		out.Keys++
		if e.TTL > 0 {
			out.Expiring++
		}
		if e.Session != "" {
			out.Locked++
		}
		return to.Write(&records.Record{Key: e.Key, Value: e.Value, Flags: e.Flags, TTL: e.TTL})
	})
	if err != nil {
		return out, err
	}
	out.Revision = b.Info().Revision
	return out, to.Close()
}
