// Package vault runs HashiCorp Vault's storage in Consul against Tenure: its package physical/consul, and the tests that
// Vault has for every storage. It is a module of its own, since Vault's is required with all that Vault needs.
package vault
