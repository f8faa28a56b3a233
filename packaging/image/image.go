package main

import (
	"bytes"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	user    = 65532 // by number: Kubernetes cannot tell whether a name is root's
	dataDir = "var/lib/kvnode"
)

// image makes the image for an architecture: one layer with the files of dir, and what a container of it runs.
func (r release) image(arch, dir string) (v1.Image, error) {
	var files bytes.Buffer
	if err := r.archive(&files, dir); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(9))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: r.date}, CreatedBy: "packaging/image"}})
	if err != nil {
		return nil, err
	}
	image, err = mutate.ConfigFile(image, r.config(image, arch))
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, r.labels()).(v1.Image), nil
}

// config is what a container of image runs: a node, under an init so that its guardian outlives it.
func (r release) config(image v1.Image, arch string) *v1.ConfigFile {
	was, err := image.ConfigFile()
	if err != nil {
		panic(err) // it was made a moment ago
	}
	c := was.DeepCopy()
	c.OS, c.Architecture, c.Created = "linux", arch, v1.Time{Time: r.date}
	c.Config = v1.Config{
		User:         "65532:65532",
		Env:          []string{"PATH=/usr/bin"},
		Entrypoint:   []string{"/usr/bin/kvnode", "init"},
		WorkingDir:   "/" + dataDir, // so the data are in kvnode-data there, a directory of the node's own in any volume
		ExposedPorts: map[string]struct{}{"8300/tcp": {}, "8500/tcp": {}, "8501/tcp": {}},
		StopSignal:   "SIGTERM",
		Labels:       r.labels(),
	}
	return c
}

func (r release) labels() map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title":       "tenure",
		prefix + "description": "A replicated key-value store for coordination: kvnode and kvctl",
		prefix + "version":     r.version,
		prefix + "revision":    r.revision,
		prefix + "created":     r.date.Format(time.RFC3339),
		prefix + "licenses":    "Apache-2.0",
	}
}
