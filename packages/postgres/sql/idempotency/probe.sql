-- Writes nothing, but fails where nothing could be written: on a standby, or without the table.
DELETE FROM sluice.records WHERE id = ''
