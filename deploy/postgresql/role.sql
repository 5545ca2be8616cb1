-- A role that may do nothing but use its own database; psql reads the password from a file. PostgreSQL 14 or newer.
\set password `cat /etc/hedgerow/database_password`
CREATE ROLE hedgerow LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD :'password';
CREATE DATABASE hedgerow OWNER hedgerow;
REVOKE ALL ON DATABASE hedgerow FROM PUBLIC;
\connect hedgerow
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT ALL ON SCHEMA public TO hedgerow;
